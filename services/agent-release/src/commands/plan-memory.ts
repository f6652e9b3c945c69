import { sql, type Tx } from "@muster/db";
import type { NoteVerifier } from "@muster/kit";
import { type Component, platformOf } from "../rules/component.ts";
import { ManifestError } from "../rules/manifest.ts";
import { manifestRoot } from "../rules/manifest-root.ts";
import { type Catalogue, type PlannedRelease, type PlannedRollout, partKey } from "../rules/plan.ts";
import { createVerify, distrusted, type Verify } from "../rules/release-trust.ts";
import { openRollbackNote, type RollbackNote } from "../rules/rollback-note.ts";
import { type Merged, mergeSettings, nothingSet, type Settings } from "../rules/settings.ts";
import { compareVersions } from "../rules/version.ts";
import { changesSince, type PlanScope, readEpoch } from "../store/plan.ts";
import { haltedParts } from "../store/rollout-parts.ts";
import { liveRollouts, type RolloutRow } from "../store/rollouts.ts";
import { rootNotes } from "../store/root-notes.ts";
import { settingsOf, settingsOfPartners } from "../store/settings.ts";
import { partnersOfOrganizations } from "../store/tenants.ts";

/** A file as an offer names it. */
export type PlannedArtifact = { os: string; arch: string; libc: string; size: number; sha256: string };
export type OfferedRelease = { manifest: string | null; artifacts: ReadonlyMap<string, PlannedArtifact> };

/** The input of decisions, as of an epoch. */
export type Plan = {
  epoch: number;
  catalogue: Catalogue;
  offered: ReadonlyMap<string, OfferedRelease>;
  /** Why agents would refuse a release, by its id; those that they accept are absent. */
  untrusted: ReadonlyMap<string, string>;
  /** How the keys of manifests were exchanged, oldest first. */
  rootNotes: readonly string[];
  /** A rollback note as the present keys verify it; null when they do not, or there is none. */
  openRollback(text: string | null): RollbackNote | null;
  /** The text of a rollout's rollback note; null without one. */
  noteOf(rolloutId: string): string | null;
  mergedOf(partnerId: string, orgId: string): Merged;
};

export type PlanMemory = {
  /** The plan as this transaction sees it, with the settings of these partners. */
  read(tx: Tx, partnerIds: readonly string[]): Promise<Plan>;
};

type PartnerSettings = { own: Settings; organizations: Map<string, Settings>; merged: Map<string, Merged> };
type CatalogueAt = Pick<Plan, "catalogue" | "offered" | "untrusted" | "rootNotes" | "openRollback" | "noteOf">;
/** The plan as of one epoch; what a slower transaction read for an older epoch is never stored here. */
type Held = { epoch: number; catalogue: CatalogueAt; partners: Map<string, PartnerSettings> };

const partnersMax = 5_000;
const changesMax = 1_000;

/**
 * `keys` are those of the setting, which root notes exchange; without a signature of the present ones a release counts
 * only where `unsigned`.
 */
type Trust = { unsigned: boolean; keys: readonly NoteVerifier[]; verifyWith(keys: readonly NoteVerifier[]): Verify };

/**
 * Keeps catalogue and settings in memory by the plan's epoch: a decision reads what has changed since the one before.
 */
export function createPlanMemory({ unsigned, keys }: Omit<Trust, "verifyWith">): PlanMemory {
  let newest: Held | null = null;
  const trust = { unsigned, keys, verifyWith: createVerify() };

  return {
    async read(tx, partnerIds) {
      const epoch = await readEpoch(tx);
      const before = newest;
      const held = before?.epoch === epoch ? before : await heldAt(tx, epoch, before, trust);
      // Else another transaction was faster: what it stored may be newer, and is never replaced by older data.
      if (newest === before) newest = held;
      const partners = await partnersOf(tx, held, partnerIds);
      return { epoch, ...held.catalogue, mergedOf: (partnerId, orgId) => mergedOf(partners.get(partnerId), orgId) };
    },
  };
}

/**
 * The plan at an epoch: the cached one without the entries that have changed since; fully read again when the cached
 * one is too old.
 */
async function heldAt(tx: Tx, epoch: number, before: Held | null, trust: Trust): Promise<Held> {
  const changes = before && before.epoch < epoch ? await changesSince(tx, before.epoch, epoch, changesMax) : null;
  if (before === null || changes === null)
    return { epoch, catalogue: await readCatalogue(tx, trust), partners: new Map() };
  const partners = new Map(before.partners);
  const ids = (of: PlanScope["scope"]) => changes.flatMap(({ scope, id }) => (scope === of && id !== null ? [id] : []));
  for (const id of ids("partner")) partners.delete(id);
  await forgetOrganizations(tx, partners, ids("organization"));
  // Partners change rollouts of their own, too.
  const isAnother = changes.some(({ scope }) => scope !== "organization");
  return { epoch, catalogue: isAnother ? await readCatalogue(tx, trust) : before.catalogue, partners };
}

/** The settings of these partners: those that are not cached yet are read. */
async function partnersOf(
  tx: Tx,
  { partners }: Held,
  ids: readonly string[],
): Promise<ReadonlyMap<string, PartnerSettings>> {
  const wanted = new Map<string, PartnerSettings>();
  const missing = new Set<string>();
  for (const id of ids) {
    const cached = partners.get(id);
    if (cached) wanted.set(id, cached);
    else missing.add(id);
  }
  if (missing.size === 0) return wanted;
  const rows = await settingsOfPartners(tx, [...missing]);
  if (partners.size + missing.size > partnersMax) partners.clear();
  for (const id of missing) {
    const own = rows.filter(({ partner_id: partnerId }) => partnerId === id);
    const partner = own.find(({ org_id: orgId }) => orgId === null);
    const organizations = own.flatMap((row) => (row.org_id === null ? [] : [[row.org_id, settingsOf(row)] as const]));
    const settings = partner ? settingsOf(partner) : nothingSet;
    const read = { own: settings, organizations: new Map(organizations), merged: new Map() };
    partners.set(id, read);
    wanted.set(id, read);
  }
  return wanted;
}

function mergedOf(partner: PartnerSettings | undefined, orgId: string): Merged {
  // Missing settings must not count as defaults: a decision for a partner that was not loaded could offer a forbidden
  // update.
  if (!partner) throw new Error("the plan was read without this partner's settings");
  const organization = partner.organizations.get(orgId);
  const key = organization ? orgId : "";
  let merged = partner.merged.get(key);
  if (!merged) {
    merged = mergeSettings(partner.own, organization ?? nothingSet);
    partner.merged.set(key, merged);
  }
  return merged;
}

/**
 * An organization's settings are read with its partner's: the next decision about it reads them all. Those of other
 * partners stay, since any organization may request updates, and each request comes here.
 */
async function forgetOrganizations(
  tx: Tx,
  partners: Map<string, PartnerSettings>,
  orgIds: readonly string[],
): Promise<void> {
  if (orgIds.length === 0 || partners.size === 0) return;
  const partnerOf = await partnersOfOrganizations(tx, orgIds);
  for (const orgId of orgIds) {
    const partnerId = partnerOf.get(orgId);
    // The copy of the tenants has yet to learn of it.
    if (partnerId === undefined) return partners.clear();
    partners.delete(partnerId);
  }
}

type CatalogueRow = {
  id: string;
  component: Component;
  version: string;
  minimum_version: string | null;
  manifest: string | null;
  counter: number;
  createdAt: Date;
  expires_at: Date | null;
  yanked: boolean;
  promoted: boolean;
  artifacts: PlannedArtifact[];
};

async function readCatalogue(tx: Tx, trust: Trust): Promise<CatalogueAt> {
  const rows = await tx.query<CatalogueRow>(sql`
    SELECT r.id, r.component, r.version, r.minimum_version, r.manifest, r.counter, r.created_at AS "createdAt", r.expires_at,
           r.yanked_at IS NOT NULL AS yanked,
           EXISTS (SELECT FROM promotion p WHERE p.release_id = r.id) AS promoted,
           coalesce((SELECT jsonb_agg(jsonb_build_object('os', a.os, 'arch', a.arch, 'libc', a.libc, 'size', a.size, 'sha256', a.sha256))
                     FROM artifact a WHERE a.release_id = r.id), '[]') AS artifacts
    FROM release r`);
  const notes = await rootNotes(tx);
  const { keys } = manifestRoot(trust.keys, notes);
  const verify = trust.verifyWith(keys);
  const untrusted = distrusted(rows, { verify, unsigned: trust.unsigned });
  const openRollback = rollbackReader(keys);
  const rollouts = await liveRollouts(tx);
  const halted = new Map<string, Map<string, string>>();
  for (const part of await haltedParts(tx, null)) {
    const own = halted.get(part.rollout_id) ?? new Map<string, string>();
    halted.set(part.rollout_id, own.set(partKey(part), part.reason ?? ""));
  }
  const byRelease = new Map<string, PlannedRollout[]>();
  for (const rollout of rollouts) {
    const planned = plannedRollout(rollout, halted.get(rollout.id) ?? new Map(), openRollback);
    addTo(byRelease, rollout.release_id, planned);
  }
  const of = (component: Component) => {
    const own = rows.filter((row) => row.component === component);
    const releases = own.flatMap((row) => plannedOf(row, byRelease.get(row.id) ?? [], untrusted));
    releases.sort((a, b) => compareVersions(b.version, a.version));
    return { promotedId: own.find(({ promoted }) => promoted)?.id ?? null, releases };
  };
  const catalogue = { agent: of("agent"), watchdog: of("watchdog"), helper: of("helper") };
  const offered = rows.map(({ id, manifest, artifacts }) => {
    const files = new Map(artifacts.map((each) => [platformOf(each), each]));
    return [id, { manifest, artifacts: files }] as const;
  });
  return { catalogue, offered: new Map(offered), untrusted, rootNotes: notes, openRollback, noteOf: notesOf(rollouts) };
}

/** The rollback note of a rollout, by its id; null without one. */
function notesOf(rollouts: readonly RolloutRow[]): Plan["noteOf"] {
  const notes = new Map(rollouts.map((row) => [row.id, row.rollback_note]));
  return (id) => notes.get(id) ?? null;
}

/** Reads each rollback note once. */
function rollbackReader(keys: readonly NoteVerifier[]): Plan["openRollback"] {
  const read = new Map<string, RollbackNote | null>();
  return (text) => {
    if (text === null) return null;
    let note = read.get(text);
    if (note === undefined) {
      note = validNote(text, keys);
      read.set(text, note);
    }
    return note;
  };
}

function validNote(text: string, keys: readonly NoteVerifier[]): RollbackNote | null {
  try {
    return openRollbackNote(text, keys);
  } catch (error) {
    if (error instanceof ManifestError) return null;
    throw error;
  }
}

function plannedOf(
  row: CatalogueRow,
  rollouts: readonly PlannedRollout[],
  reasons: ReadonlyMap<string, string>,
): PlannedRelease[] {
  const guard = rollouts.find(({ kind }) => kind === "guard");
  // Without its guard a release is not offered.
  if (!guard) return [];
  const above = rollouts.filter(({ partnerId }) => partnerId === null);
  const ofPartners = new Map<string, PlannedRollout[]>();
  for (const each of rollouts) if (each.partnerId !== null) addTo(ofPartners, each.partnerId, { ...each, above });
  return [
    {
      id: row.id,
      version: row.version,
      minimumVersion: row.minimum_version,
      yanked: row.yanked,
      untrusted: reasons.get(row.id) ?? null,
      counter: Number(row.counter),
      expiresAt: row.expires_at,
      platforms: new Set(row.artifacts.map(platformOf)),
      guard,
      staged: above.filter(({ kind }) => kind === "staged"),
      ofPartners,
    },
  ];
}

function addTo(lists: Map<string, PlannedRollout[]>, key: string, rollout: PlannedRollout): void {
  const list = lists.get(key);
  if (list) list.push(rollout);
  else lists.set(key, [rollout]);
}

function plannedRollout(
  row: RolloutRow,
  halted: ReadonlyMap<string, string>,
  openRollback: Plan["openRollback"],
): PlannedRollout {
  const { id, kind, partner_id: partnerId, state, rings, open_rings: openRings, percent } = row;
  const rollback = openRollback(row.rollback_note);
  return { id, kind, partnerId, state, rings, openRings, percent, haltedParts: halted, budget: null, rollback };
}
