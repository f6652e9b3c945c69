import type { ServiceImpl } from "@connectrpc/connect";
import { type Database, type Query, sql } from "@muster/db";
import { AppError, isLocation, systemCaller, validationError } from "@muster/kit";
import type { DownloadService } from "@muster/proto/muster/release/v1/download_pb";
import { callContext } from "@muster/rpc";
import { requireUser } from "@muster/service";
import { pieceBytes, type Storage } from "../clients/storage.ts";
import type { PlanMemory } from "../commands/plan-memory.ts";
import { versionNotFound } from "../commands/promote.ts";
import { service } from "../config.ts";
import { type Component, isComponent } from "../rules/component.ts";
import { notSigned } from "../rules/trust.ts";
import { parseVersion } from "../rules/version.ts";
import { requireGateway } from "./guards.ts";

export type DownloadDeps = {
  db: Database;
  storage: Storage | null;
  preferStore: boolean;
  plan: PlanMemory;
};

type FileRow = {
  id: string;
  os: string;
  arch: string;
  libc: string;
  version: string;
  name: string;
  size: number;
  sha256: string;
  source_url: string | null;
  stored: boolean;
  manifest: string | null;
};

const filesOf = (component: Component) =>
  sql`SELECT r.id, a.os, a.arch, a.libc, r.version, a.name, a.size, a.sha256, a.source_url, a.stored, r.manifest
      FROM release r JOIN artifact a ON a.release_id = r.id
      WHERE r.component = ${component} AND r.yanked_at IS NULL`;
const isPromoted = (component: Component) =>
  sql`r.id = (SELECT p.release_id FROM promotion p WHERE p.component = ${component})`;
const noComponent = () => validationError({ component: ["Must be agent, watchdog or helper"] });

/** Files of releases, public: an installer has no credential yet. */
export function downloadService({ db, storage, preferStore, plan }: DownloadDeps): ServiceImpl<typeof DownloadService> {
  const who = { caller: systemCaller(service) };
  const read = (query: Query) =>
    db.tx(
      who,
      async (tx) => ({ rows: await tx.query<FileRow>(query), untrusted: (await plan.read(tx, [])).untrusted }),
      { readOnly: true },
    );
  /** Whether the bytes come from this platform's store; otherwise they are at another URL, or unavailable. */
  const isServedHere = ({ stored, source_url: url }: FileRow) =>
    stored && storage !== null && (preferStore || url === null);
  const isElsewhere = ({ source_url: url }: FileRow) => url !== null && isLocation(url);
  return {
    async locate({ os, arch, libc, component, version, withManifest, sha256: digest }, handler) {
      requireGateway(callContext(handler));
      if (!isComponent(component)) throw noComponent();
      const wanted = version === "" ? null : parseVersion(version);
      if (wanted === null && version !== "") throw validationError({ version: ["Must be a semantic version"] });
      const query = sql`${filesOf(component)} AND a.os = ${os} AND a.arch = ${arch} AND a.libc = ${libc || "gnu"}
        AND (${digest}::text = '' OR a.sha256 = ${digest}::text)
        AND CASE WHEN ${wanted}::text IS NULL
              THEN ${isPromoted(component)}
              ELSE r.version = ${wanted}::text END`;
      const { rows, untrusted } = await read(query);
      const [row] = rows;
      if (!row) throw versionNotFound();
      const reason = untrusted.get(row.id);
      if (reason !== undefined) throw notSigned(`${row.version} ${reason}`);
      const isServed = isServedHere(row);
      const location = isServed ? await storage?.urlOf(row.sha256, row.name) : row.source_url;
      if (!isServed && !isElsewhere(row)) throw versionNotFound();
      const { name, sha256 } = row;
      const manifest = withManifest ? (row.manifest ?? "") : "";
      const found = { component, version: row.version, name, sha256, size: BigInt(row.size) };
      return { ...found, location: location ?? "", manifest };
    },

    async listDownloads({ component }, handler) {
      requireUser(callContext(handler));
      if (!isComponent(component)) throw noComponent();
      const { rows, untrusted } = await read(
        sql`${filesOf(component)} AND ${isPromoted(component)} ORDER BY a.os, a.arch, a.libc`,
      );
      return {
        downloads: rows
          .filter((row) => !untrusted.has(row.id) && (isServedHere(row) || isElsewhere(row)))
          .map(({ os, arch, libc, version, name, size, sha256 }) => ({
            os,
            arch,
            libc,
            version,
            name,
            size: BigInt(size),
            sha256,
          })),
      };
    },

    async *read({ sha256, start, end }, handler) {
      requireGateway(callContext(handler));
      const [artifact] = await db.read<{ size: number }>(
        who,
        sql`SELECT size FROM artifact WHERE sha256 = ${sha256} AND stored LIMIT 1`,
      );
      const [from, to] = [Number(start), Number(end)];
      if (!artifact || from < 0 || to > artifact.size || from > to) throw versionNotFound();
      const bytes = await storage?.read(sha256, from, to);
      if (!bytes) throw new AppError("internal", "A stored file is not in its store");
      for await (const chunk of bytes) {
        for (let at = 0; at < chunk.length; at += pieceBytes) {
          yield { bytes: chunk.subarray(at, at + pieceBytes) as Uint8Array<ArrayBuffer> };
        }
      }
    },
  };
}
