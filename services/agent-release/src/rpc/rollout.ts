import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import type { Database, Tx } from "@muster/db";
import { AppError, type CallContext, clampPage, type FieldErrors, isUuid, uuidv7, validationError } from "@muster/kit";
import { type Rollout, RolloutSchema, RolloutService } from "@muster/proto/muster/release/v1/rollout_pb";
import { callContext } from "@muster/rpc";
import { checkedBefore, idempotentTx, requirePermission } from "@muster/service";
import type { PlanMemory } from "../commands/plan-memory.ts";
import { promoteVersion, requireTrusted, versionNotFound } from "../commands/promote.ts";
import { auditRelease } from "../emits/audit.ts";
import { isComponent } from "../rules/component.ts";
import { budgetOf, guardLimits, isOverThreshold, type Ring, type RolloutState, threshold } from "../rules/rollout.ts";
import { compareVersions, parseVersion } from "../rules/version.ts";
import { extendByPause, lockOpenOfRollout } from "../store/attempts.ts";
import { bumpPlan } from "../store/plan.ts";
import { bucketSecondsOf, expectedEnd, listAttempts, progressOf } from "../store/progress.ts";
import { promotedVersions } from "../store/promotions.ts";
import { lockReleasesOf, type ReleaseRow } from "../store/releases.ts";
import {
  countersOf,
  countStaged,
  findRollout,
  insertRollout,
  limitsOf,
  listRollouts,
  lockRollouts,
  type RolloutRow,
  type ShownRollout,
  updateRollout,
} from "../store/rollouts.ts";
import { asService, requirePlatform } from "./guards.ts";
import { attemptMessage } from "./update.ts";

export type RolloutDeps = {
  db: Database;
  now: () => Date;
  stagedMax: number;
  mfaMaxAgeMinutes: number;
  plan: PlanMemory;
};

const ringsMax = 20;
const ringIdsMax = 1_000;

/** States from which each change is possible, and where it leads. */
const changes: Record<string, { from: readonly RolloutState[]; to: RolloutState }> = {
  pause: { from: ["running", "paused"], to: "paused" },
  resume: { from: ["running", "paused", "halted"], to: "running" },
  complete: { from: ["running", "paused", "halted"], to: "completed" },
  cancel: { from: ["running", "paused", "halted"], to: "cancelled" },
};

type Handlers = ServiceImpl<typeof RolloutService>;

/** Guards of releases and staged rollouts. */
export function rolloutService(deps: RolloutDeps): ServiceImpl<typeof RolloutService> {
  return { ...rolloutReads(deps), ...rolloutCreation(deps), ...rolloutChanges(deps) };
}

function rolloutReads({
  db,
  now,
}: RolloutDeps): Pick<Handlers, "listRollouts" | "getRollout" | "getProgress" | "listDevices"> {
  return {
    async listRollouts({ page, component, state, kind }, handler) {
      const context = callContext(handler);
      requirePermission(context, "agent-releases:read");
      const { rows, info } = await listRollouts(
        db,
        asService(context),
        { component, state, kind },
        clampPage(page ?? {}),
      );
      return { rollouts: rows.map((row) => rolloutMessage(row, context)), page: info };
    },

    async getRollout({ id }, handler) {
      const context = callContext(handler);
      requirePermission(context, "agent-releases:read");
      return db.tx(
        asService(context),
        async (tx) => ({ rollout: rolloutMessage(await existingRollout(tx, id), context) }),
        {
          readOnly: true,
        },
      );
    },

    async getProgress({ id, bucketSeconds }, handler) {
      const context = callContext(handler);
      requirePermission(context, "agent-releases:read");
      return db.tx(
        asService(context),
        async (tx) => {
          const row = await existingRollout(tx, id);
          const seconds = await bucketSecondsOf(tx, row.id, bucketSeconds);
          const buckets = await progressOf(tx, row.id, seconds);
          const end = expectedEnd(row, buckets, seconds, now());
          return {
            rollout: rolloutMessage(row, context),
            bucketSeconds: seconds,
            buckets: buckets.map(({ at, ...counts }) => ({ at: timestampFromDate(at), ...counts })),
            ...(end ? { expectedEnd: timestampFromDate(end) } : {}),
          };
        },
        { readOnly: true },
      );
    },

    async listDevices({ id, page, state, reason }, handler) {
      const context = callContext(handler);
      requirePermission(context, "agent-releases:read");
      const row = await db.tx(asService(context), (tx) => existingRollout(tx, id), { readOnly: true });
      // Read as the caller, who sees only the devices of the caller's organizations.
      const { rows, info } = await listAttempts(
        db,
        context,
        { rolloutId: row.id, state, reason },
        clampPage(page ?? {}),
      );
      return { attempts: rows.map(attemptMessage), page: info };
    },
  };
}

function rolloutCreation(deps: RolloutDeps): Pick<Handlers, "createRollout"> {
  const { db, now } = deps;
  return {
    async createRollout(request, handler) {
      const context = callContext(handler);
      requirePlatform(context, deps.mfaMaxAgeMinutes);
      const version = parseVersion(request.version);
      const errors: FieldErrors = {};
      if (!isComponent(request.component)) errors.component = ["Must be agent, watchdog or helper"];
      if (version === null) errors.version = ["Must be a semantic version"];
      checkRings(request.rings, errors);
      const wanted = {
        percent: request.percent ?? 100,
        open_rings: request.openRings ?? Math.min(1, request.rings.length),
        max_in_flight: request.maxInFlight ?? guardLimits.maxInFlight,
        halt_failures: request.haltAfterFailures ?? guardLimits.haltFailures,
        halt_percent: request.haltPercent ?? guardLimits.haltPercent,
        soak_seconds: request.soakSeconds ?? guardLimits.soakSeconds,
      };
      checkNumbers(wanted, request.rings.length, errors);
      if (Object.keys(errors).length > 0 || version === null) throw validationError(errors);
      const at = now();
      return idempotentTx(db, context, RolloutService.method.createRollout, request, checkedBefore, async (tx) => {
        const [release] = await lockReleasesOf(tx, version, request.component);
        if (!release || release.yanked_at !== null) throw versionNotFound();
        await requireNewer(tx, release);
        await requireTrusted(tx, deps.plan, [release]);
        if ((await countStaged(tx)) >= deps.stagedMax) {
          const text = `At most ${deps.stagedMax} staged rollouts at a time`;
          throw new AppError("limit_reached", text, { facts: { limit: deps.stagedMax } });
        }
        const id = uuidv7(at.getTime());
        const rings = request.rings.map((ring): Ring => {
          const { name, partnerIds, orgIds, siteIds, groupIds } = ring;
          const lower = (ids: readonly string[]) => ids.map((each) => each.toLowerCase());
          return {
            name,
            partnerIds: lower(partnerIds),
            orgIds: lower(orgIds),
            siteIds: lower(siteIds),
            groupIds: lower(groupIds),
          };
        });
        const by = context.caller.actor.id;
        const row = {
          id,
          release_id: release.id,
          kind: "staged",
          state: "running",
          rings,
          created_by: by,
          created_at: at,
        };
        await insertRollout(tx, { ...row, ...wanted } as Parameters<typeof insertRollout>[1]);
        const name = `${release.component} ${release.version}`;
        const after = { component: release.component, version, ...wanted, rings: rings.map((ring) => ring.name) };
        const details = { changes: { before: {}, after } };
        auditRelease(tx, context, { action: "agent_update.rollout.create", id, name, details }, at);
        await bumpPlan(tx, { scope: "all" });
        return { rollout: rolloutMessage(await existingRollout(tx, id), context) };
      });
    },
  };
}

function rolloutChanges(deps: RolloutDeps): Pick<Handlers, "updateRollout" | "changeState"> {
  const { now } = deps;
  return {
    async updateRollout(request, handler) {
      const context = callContext(handler);
      requirePlatform(context, deps.mfaMaxAgeMinutes);
      const { id, $typeName: _type, $unknown: _unknown, ...fields } = request;
      if (Object.values(fields).every((value) => value === undefined))
        throw new AppError("no_updates", "No updates provided");
      return altered(deps, context, id, async (_tx, row) => {
        if (row.state === "completed" || row.state === "cancelled") throw notRunning(row.state);
        const errors: FieldErrors = {};
        if (request.percent !== undefined && request.percent < row.percent) errors.percent = ["May only rise"];
        if (request.openRings !== undefined && request.openRings < row.open_rings) errors.openRings = ["May only rise"];
        row.percent = request.percent ?? row.percent;
        row.open_rings = request.openRings ?? row.open_rings;
        row.max_in_flight = request.maxInFlight ?? row.max_in_flight;
        row.halt_failures = request.haltAfterFailures ?? row.halt_failures;
        row.halt_percent = request.haltPercent ?? row.halt_percent;
        row.soak_seconds = request.soakSeconds ?? row.soak_seconds;
        checkNumbers(row, row.rings.length, errors);
        if (Object.keys(errors).length > 0) throw validationError(errors);
        return { action: "update" };
      });
    },

    async changeState({ id, change, acceptFailures }, handler) {
      const context = callContext(handler);
      requirePlatform(context, deps.mfaMaxAgeMinutes);
      const wanted = changes[change];
      if (!wanted) throw validationError({ change: ["Must be pause, resume, complete or cancel"] });
      return altered(deps, context, id, async (tx, row) => {
        const isGuard = row.kind === "guard";
        if (!wanted.from.includes(row.state) || (isGuard && (change === "complete" || change === "cancel"))) {
          throw notRunning(row.state);
        }
        // A halted rollout stays halted until an operator accepts its failures.
        if (change === "pause" && row.state === "halted") throw notRunning(row.state);
        if (change === "resume") requireFewFailures(row, acceptFailures);
        row.state = wanted.to;
        if (change !== "pause") row.reason = null;
        if (change === "complete") {
          await promoteVersion(tx, context, { version: row.version, component: row.component, plan: deps.plan }, now());
        }
        return { action: change, ...(change === "resume" ? { details: { acceptFailures } } : {}) };
      });
    },
  };
}

/** The clocks of the attempts stop with a pause, and go on with its end. */
async function moveClocks(tx: Tx, row: RolloutRow, before: RolloutRow, at: Date): Promise<void> {
  if (row.state === "paused") row.paused_at = before.paused_at ?? at;
  else if (before.paused_at !== null) {
    await extendByPause(tx, row.id, before.paused_at);
    row.paused_at = null;
  }
}

/** Above its threshold a rollout continues only for a user who accepts its failures: then they no longer count. */
function requireFewFailures(row: RolloutRow, acceptFailures: boolean): void {
  const counters = countersOf(row);
  if (acceptFailures) row.failures_before_resume = row.failed;
  else if (isOverThreshold(limitsOf(row), counters)) {
    const { succeeded, failed, failuresBeforeResume } = counters;
    const facts = { succeeded, failed, failuresBeforeResume, threshold: threshold(limitsOf(row), counters) };
    throw new AppError("rollout_over_threshold", "More updates failed than the rollout allows", { facts });
  }
}

/** Devices take a rolled out version before the promoted one: it must be newer. */
async function requireNewer(tx: Tx, { component, version }: ReleaseRow): Promise<void> {
  const promoted = (await promotedVersions(tx))[component];
  if (promoted === undefined || compareVersions(version, promoted) > 0) return;
  const reason = version === promoted ? "Is promoted already" : `Must be newer than the promoted version ${promoted}`;
  throw validationError({ version: [reason] });
}

async function existingRollout(tx: Tx, id: string): Promise<ShownRollout> {
  const row = isUuid(id) ? await findRollout(tx, id) : null;
  if (!row) throw new AppError("rollout_not_found", "Rollout not found");
  return row;
}

/** Locks a rollout and lets `change` alter its row; the rollout after it. */
function altered(
  { db, now }: RolloutDeps,
  context: CallContext,
  id: string,
  change: (tx: Tx, row: ShownRollout) => Promise<Fact>,
) {
  const at = now();
  return db.tx(
    context,
    async (tx) => {
      const { component, version, state } = await existingRollout(tx, id);
      // Attempts before their rollout, as heartbeats lock them.
      if (state === "paused") await lockOpenOfRollout(tx, id);
      const [locked] = await lockRollouts(tx, [id]);
      if (!locked) throw new AppError("rollout_not_found", "Rollout not found");
      const row = { ...locked, component, version };
      const before = settled(row);
      const { action, details } = await change(tx, row);
      await moveClocks(tx, row, locked, at);
      await updateRollout(tx, row, at);
      const changed = { before, after: settled(row) };
      const fact = { action: `agent_update.rollout.${action}`, id, name: `${component} ${version}` };
      auditRelease(tx, context, { ...fact, details: { ...details, changes: changed } }, at);
      await bumpPlan(tx, { scope: "all" });
      return { rollout: rolloutMessage(await existingRollout(tx, id), context) };
    },
    { retry: true },
  );
}

type Fact = { action: string; details?: Record<string, unknown> };

const notRunning = (state: string) =>
  new AppError("rollout_not_running", `The rollout is ${state}`, { facts: { state } });

function settled(row: RolloutRow): Record<string, unknown> {
  const {
    state,
    percent,
    open_rings: openRings,
    max_in_flight: maxInFlight,
    failures_before_resume: failuresBeforeResume,
  } = row;
  const { halt_failures: haltAfterFailures, halt_percent: haltPercent, soak_seconds: soakSeconds } = row;
  return { state, percent, openRings, maxInFlight, haltAfterFailures, haltPercent, soakSeconds, failuresBeforeResume };
}

function checkRings(rings: readonly Omit<Ring, "$typeName">[], errors: FieldErrors): void {
  if (rings.length > ringsMax) errors.rings = [`At most ${ringsMax}`];
  rings.forEach((ring, at) => {
    const ids = [...ring.partnerIds, ...ring.orgIds, ...ring.siteIds, ...ring.groupIds];
    if (ids.length === 0 || ids.length > ringIdsMax || !ids.every(isUuid)) {
      errors[`rings.${at}`] = [`Must have 1 to ${ringIdsMax} ids of partners, organizations, sites or groups`];
    }
  });
}

function checkNumbers(
  row: Pick<RolloutRow, "percent" | "open_rings" | "max_in_flight" | "halt_failures" | "halt_percent" | "soak_seconds">,
  rings: number,
  errors: FieldErrors,
): void {
  const within = (name: string, value: number, min: number, max: number) => {
    if (!(value >= min && value <= max)) errors[name] = [`Must be ${min} to ${max}`];
  };
  within("percent", row.percent, 0, 100);
  within("openRings", row.open_rings, 0, rings);
  within("maxInFlight", row.max_in_flight, 1, 1_000_000);
  within("haltAfterFailures", row.halt_failures, 1, 1_000_000);
  within("haltPercent", row.halt_percent, 0, 100);
  within("soakSeconds", row.soak_seconds, 0, 86_400);
}

/** Rings name tenants: only system users see which. */
function rolloutMessage(row: ShownRollout, { caller }: CallContext): Rollout {
  const nobody = { partnerIds: [], orgIds: [], siteIds: [], groupIds: [] };
  return create(RolloutSchema, {
    id: row.id,
    releaseId: row.release_id,
    component: row.component,
    version: row.version,
    kind: row.kind,
    state: row.state,
    rings: row.rings.map((ring) => {
      const members = caller.scope === "system" ? ring : { ...nobody, name: ring.name };
      return {
        name: members.name,
        partnerIds: [...members.partnerIds],
        orgIds: [...members.orgIds],
        siteIds: [...members.siteIds],
        groupIds: [...members.groupIds],
      };
    }),
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
    budget: row.state === "running" ? budgetOf(limitsOf(row), countersOf(row)) : 0,
    createdAt: timestampFromDate(row.created_at),
    updatedAt: timestampFromDate(row.updated_at),
  });
}
