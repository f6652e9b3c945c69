import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { CallContext, Caller } from "@muster/kit";
import {
  type HaltedPart,
  HaltedPartSchema,
  type Rollout,
  RolloutSchema,
} from "@muster/proto/muster/release/v1/rollout_pb";
import type { Ring } from "../rules/ring.ts";
import { budgetOf, type Ramp } from "../rules/rollout.ts";
import type { PartRow } from "../store/rollout-parts.ts";
import { countersOf, limitsOf, type ShownRollout } from "../store/rollouts.ts";

const nobody = { partnerIds: [], orgIds: [], siteIds: [], groupIds: [] };

/** A ring as its message has it. */
export const ringFields = ({ name, partnerIds, orgIds, siteIds, groupIds, ...ring }: Ring) => ({
  name,
  partnerIds: [...partnerIds],
  orgIds: [...orgIds],
  siteIds: [...siteIds],
  groupIds: [...groupIds],
  labels: { ...ring.labels },
  os: [...(ring.os ?? [])],
  arch: [...(ring.arch ?? [])],
  agentVersionRange: ring.agentVersionRange ?? "",
});

/** Rings name tenants: only system users see which, and of its own rollouts a partner's users of all organizations. */
export function rolloutMessage(
  row: ShownRollout,
  { caller }: CallContext,
  { halted, ramp }: { halted: readonly PartRow[]; ramp: Ramp },
): Rollout {
  return create(RolloutSchema, {
    id: row.id,
    releaseId: row.release_id,
    component: row.component,
    version: row.version,
    kind: row.kind,
    state: row.state,
    partnerId: row.partner_id ?? "",
    heldByPlatform: row.held_by_platform,
    mayChange: mayChange(caller, row),
    rings: row.rings.map((ring) => ringFields(seesOwners(caller, row) ? ring : { ...nobody, name: ring.name })),
    openRings: row.open_rings,
    percent: row.percent,
    maxInFlight: row.max_in_flight,
    haltAfterFailures: row.halt_failures,
    haltPercent: row.halt_percent,
    soakSeconds: row.soak_seconds,
    inFlight: row.in_flight,
    succeeded: row.succeeded,
    failed: row.failed,
    failuresBeforeResume: row.failures_before_resume,
    reason: row.reason ?? "",
    budget: row.state === "running" ? budgetOf(limitsOf(row), countersOf(row), ramp) : 0,
    ...(row.wave_success_percent === null ? {} : { waveSuccessPercent: row.wave_success_percent }),
    allowDowngrade: row.rollback_note !== null,
    haltedParts: halted.filter((part) => part.rollout_id === row.id && isVisible(part, caller)).map(partMessage),
    createdAt: timestampFromDate(row.created_at),
    updatedAt: timestampFromDate(row.updated_at),
  });
}

/** Whether the caller may change it: people of the platform each, a partner's who reach all of it their own. */
function mayChange(caller: Caller, row: ShownRollout): boolean {
  const needed = caller.scope === "system" ? "platform:admin" : "partner:policy";
  return seesOwners(caller, row) && caller.permissions.includes(needed);
}

function seesOwners({ scope, partnerId, orgAccess }: Caller, row: ShownRollout): boolean {
  if (scope === "system") return true;
  return scope === "partner" && partnerId !== null && row.partner_id === partnerId && orgAccess.mode === "all";
}

/** Organizations are visible to those who may see them, systems to everybody. */
export function isVisible({ kind, org_id: orgId, partner_id: partnerId }: PartRow, caller: Caller): boolean {
  if (kind === "platform" || caller.scope === "system") return true;
  if (caller.scope === "organization") return caller.orgId === orgId;
  const isInScope = caller.orgAccess.mode === "all" || caller.orgAccess.orgIds.includes(orgId ?? "");
  return caller.partnerId === partnerId && isInScope;
}

function partMessage(part: PartRow): HaltedPart {
  return create(HaltedPartSchema, {
    kind: part.kind,
    orgId: part.org_id ?? "",
    platform: part.kind === "platform" ? part.name : "",
    succeeded: part.succeeded,
    failed: part.failed,
    reason: part.reason ?? "",
    ...(part.halted_at ? { haltedAt: timestampFromDate(part.halted_at) } : {}),
  });
}
