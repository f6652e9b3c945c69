import { type Database, sql, type Tx } from "@muster/db";
import type { CallContext, Page } from "@muster/kit";
import { type ListPage, readNewestPage } from "@muster/service";
import type { Component } from "../rules/component.ts";

export type ReleaseRow = {
  id: string;
  component: Component;
  version: string;
  prerelease: boolean;
  source: string;
  manifest: string | null;
  signed: boolean;
  counter: number;
  expires_at: Date | null;
  minimum_version: string | null;
  notes_url: string | null;
  created_by: string;
  created_at: Date;
  yanked_at: Date | null;
};

export type ArtifactRow = {
  release_id: string;
  os: string;
  arch: string;
  libc: string;
  name: string;
  size: number;
  sha256: string;
  source_url: string | null;
  stored: boolean;
};

export type NewRelease = Omit<ReleaseRow, "yanked_at">;

const columns = sql`id, component, version, prerelease, source, manifest, signed, counter, expires_at, minimum_version, notes_url,
  created_by, created_at, yanked_at`;

/** Inserts a release with its files and its guard; false when the component has that version already. */
export async function insertRelease(
  tx: Tx,
  release: NewRelease,
  artifacts: readonly Omit<ArtifactRow, "release_id">[],
): Promise<boolean> {
  const inserted = await tx.execute(sql`
    INSERT INTO release (${columns})
    VALUES (${release.id}, ${release.component}, ${release.version}, ${release.prerelease}, ${release.source},
            ${release.manifest}, ${release.signed}, ${release.counter}, ${release.expires_at}, ${release.minimum_version},
            ${release.notes_url}, ${release.created_by}, ${release.created_at}, NULL)
    ON CONFLICT (component, version) DO NOTHING`);
  if (inserted === 0) return false;
  await tx.execute(sql`
    INSERT INTO artifact (release_id, os, arch, libc, name, size, sha256, source_url, stored)
    SELECT ${release.id}::uuid, * FROM unnest(${artifacts.map(({ os }) => os)}::text[],
      ${artifacts.map(({ arch }) => arch)}::text[], ${artifacts.map(({ libc }) => libc)}::text[], ${artifacts.map(({ name }) => name)}::text[],
      ${artifacts.map(({ size }) => size)}::bigint[], ${artifacts.map(({ sha256 }) => sha256)}::text[],
      ${artifacts.map(({ source_url }) => source_url)}::text[], ${artifacts.map(({ stored }) => stored)}::boolean[])`);
  return true;
}

/** The releases of a version, agent first; locked until the end of the transaction. */
export function lockReleasesOf(tx: Tx, version: string, component: Component | null): Promise<ReleaseRow[]> {
  return tx.query<ReleaseRow>(sql`
    SELECT ${columns} FROM release
    WHERE version = ${version} AND (${component}::text IS NULL OR component = ${component}::text)
    ORDER BY array_position(ARRAY['agent', 'watchdog', 'helper'], component) FOR UPDATE`);
}

export async function lockRelease(tx: Tx, id: string): Promise<ReleaseRow | null> {
  const [row] = await tx.query<ReleaseRow>(sql`SELECT ${columns} FROM release WHERE id = ${id}::uuid FOR UPDATE`);
  return row ?? null;
}

export function artifactsOf(tx: Tx, releaseIds: readonly string[]): Promise<ArtifactRow[]> {
  return tx.query<ArtifactRow>(sql`
    SELECT release_id, os, arch, libc, name, size, sha256, source_url, stored FROM artifact
    WHERE release_id = ANY (${releaseIds}::uuid[]) ORDER BY release_id, os, arch, libc`);
}

/** Counters of a component's signed manifests, yanked releases left out. */
export async function countersOfComponent(
  tx: Tx,
  component: Component,
): Promise<{ version: string; counter: number }[]> {
  const rows = await tx.query<{ version: string; counter: number }>(sql`
    SELECT version, counter FROM release
    WHERE component = ${component} AND manifest IS NOT NULL AND signed AND yanked_at IS NULL`);
  return rows.map(({ version, counter }) => ({ version, counter: Number(counter) }));
}

export async function countReleases(tx: Tx, component: Component): Promise<number> {
  const [row] = await tx.query<{ n: number }>(
    sql`SELECT count(*)::int AS n FROM release WHERE component = ${component}`,
  );
  return row?.n ?? 0;
}

export async function markYanked(tx: Tx, id: string, at: Date): Promise<void> {
  await tx.execute(sql`UPDATE release SET yanked_at = coalesce(yanked_at, ${at}) WHERE id = ${id}::uuid`);
}

export async function deleteRelease(tx: Tx, id: string): Promise<void> {
  await tx.execute(sql`DELETE FROM release WHERE id = ${id}::uuid`);
}

/** Why a release must not be deleted: pinned, promoted or rolling out; null when it may be. */
export async function useOf(tx: Tx, release: ReleaseRow): Promise<{ promoted: boolean; reason: string | null }> {
  const [row] = await tx.query<{ promoted: boolean; pinned: boolean; rolling: boolean; in_flight: boolean }>(sql`
    SELECT EXISTS (SELECT FROM promotion WHERE release_id = ${release.id}::uuid) AS promoted,
      EXISTS (SELECT FROM update_settings
              WHERE (${release.component} = 'agent' AND agent_target = ${release.version})
                 OR (${release.component} = 'watchdog' AND watchdog_target = ${release.version})) AS pinned,
      EXISTS (SELECT FROM rollout WHERE release_id = ${release.id}::uuid AND kind = 'staged'
              AND state IN ('running', 'paused', 'halted')) AS rolling,
      EXISTS (SELECT FROM rollout WHERE release_id = ${release.id}::uuid AND in_flight > 0) AS in_flight`);
  const reason = row?.promoted
    ? "promoted"
    : row?.pinned
      ? "pinned"
      : row?.rolling
        ? "rolling out"
        : row?.in_flight
          ? "being installed"
          : null;
  return { promoted: row?.promoted ?? false, reason };
}

export type ListedRelease = ReleaseRow & {
  promoted: boolean;
  guard_id: string;
  guard_state: string;
  in_flight: number;
  succeeded: number;
  failed: number;
  artifacts: Omit<ArtifactRow, "release_id">[];
};

const listedColumns = sql`t.*,
  EXISTS (SELECT FROM promotion p WHERE p.release_id = t.id) AS promoted,
  (SELECT r.id FROM rollout r WHERE r.release_id = t.id AND r.kind = 'guard') AS guard_id,
  (SELECT r.state FROM rollout r WHERE r.release_id = t.id AND r.kind = 'guard') AS guard_state,
  (SELECT sum(r.in_flight)::int FROM rollout r WHERE r.release_id = t.id) AS in_flight,
  (SELECT sum(r.succeeded)::int FROM rollout r WHERE r.release_id = t.id) AS succeeded,
  (SELECT sum(r.failed)::int FROM rollout r WHERE r.release_id = t.id) AS failed,
  coalesce((SELECT jsonb_agg(jsonb_build_object('os', a.os, 'arch', a.arch, 'libc', a.libc, 'name', a.name, 'size', a.size, 'sha256', a.sha256,
                                                'stored', a.stored) ORDER BY a.os, a.arch, a.libc)
            FROM artifact a WHERE a.release_id = t.id), '[]') AS artifacts`;

/** Newest first. `who` is the service itself: counters belong to rollouts, which callers cannot see. */
export function listReleases(
  db: Database,
  who: CallContext,
  component: Component | "",
  page: Page,
): Promise<ListPage<ListedRelease>> {
  const where = component === "" ? sql`true` : sql`t.component = ${component}`;
  return readNewestPage<ListedRelease>(db, who, { table: sql`release`, columns: listedColumns, where }, page);
}

export async function findListed(tx: Tx, id: string): Promise<ListedRelease | null> {
  const [row] = await tx.query<ListedRelease>(sql`SELECT ${listedColumns} FROM release t WHERE t.id = ${id}::uuid`);
  return row ?? null;
}
