import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import type { Database, Tx } from "@muster/db";
import { AppError, type CallContext, clampPage, type FieldErrors, uuidv7, validationError } from "@muster/kit";
import { RolloutService } from "@muster/proto/muster/release/v1/rollout_pb";
import { callContext } from "@muster/rpc";
import { checkedBefore, idempotentTx, requirePermission } from "@muster/service";
import type { CountDevices } from "../clients/tenancy.ts";
import { acceptOrRefuse, alterRollout, existingRollout, type RolloutChange } from "../commands/alter-rollout.ts";
import type { PlanMemory } from "../commands/plan-memory.ts";
import { promoteVersion, requireTrusted, versionNotFound } from "../commands/promote.ts";
import { countRings, readRings } from "../commands/read-rings.ts";
import { auditRelease } from "../emits/audit.ts";
import { isComponent } from "../rules/component.ts";
import { refusalOfNote } from "../rules/rollback-note.ts";
import type { Ramp, RolloutState } from "../rules/rollout.ts";
import { checkLimits, limitsNamed, readLimits } from "../rules/rollout-limits.ts";
import { compareVersions, parseVersion } from "../rules/version.ts";
import { bumpPlan } from "../store/plan.ts";
import { bucketSecondsOf, expectedEnd, listAttempts, progressOf } from "../store/progress.ts";
import { promotedVersions } from "../store/promotions.ts";
import { lockReleasesOf, type ReleaseRow } from "../store/releases.ts";
import { haltedParts } from "../store/rollout-parts.ts";
import { countStaged, insertRollout, listRollouts, type ShownRollout } from "../store/rollouts.ts";
import { asService, requirePlatform } from "./guards.ts";
import { rolloutMessage } from "./rollout-message.ts";
import { namedTemplate } from "./template.ts";
import { attemptMessage } from "./update.ts";

export type RolloutDeps = {
  db: Database;
  now: () => Date;
  stagedMax: number;
  mfaMaxAgeMinutes: number;
  plan: PlanMemory;
  ramp: Ramp;
  countDevices: CountDevices;
};

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
  return { ...rolloutReads(deps), ...rolloutPreview(deps), ...rolloutCreation(deps), ...rolloutChanges(deps) };
}

function rolloutReads(
  deps: RolloutDeps,
): Pick<Handlers, "listRollouts" | "getRollout" | "getProgress" | "listDevices"> {
  const { db, now, ramp } = deps;
  return {
    async listRollouts({ page, component, state, kind }, handler) {
      const context = callContext(handler);
      requirePermission(context, "agent-releases:read");
      const who = asService(context);
      const { rows, info } = await listRollouts(db, who, { component, state, kind }, clampPage(page ?? {}));
      const ids = rows.map(({ id }) => id);
      const halted = await db.tx(who, (tx) => haltedParts(tx, ids), { readOnly: true });
      return { rollouts: rows.map((row) => rolloutMessage(row, context, { halted, ramp })), page: info };
    },

    async getRollout({ id }, handler) {
      const context = callContext(handler);
      requirePermission(context, "agent-releases:read");
      const read = async (tx: Tx) => ({ rollout: await shownTo(deps, tx, context, await existingRollout(tx, id)) });
      return db.tx(asService(context), read, { readOnly: true });
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
            rollout: await shownTo(deps, tx, context, row),
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

function rolloutPreview(deps: RolloutDeps): Pick<Handlers, "previewRings"> {
  return {
    async previewRings(request, handler) {
      requirePlatform(callContext(handler), deps.mfaMaxAgeMinutes);
      const errors: FieldErrors = {};
      const rings = readRings(request.rings, errors);
      if (rings.length === 0) errors.rings = ["Must have at least one"];
      if (Object.keys(errors).length > 0) throw validationError(errors);
      const counts = await countRings(rings, deps.countDevices, { needed: false });
      return { devices: counts.map(({ devices }) => devices), ownDevices: counts.map(({ own }) => own) };
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
      const template = await namedTemplate(db, context, request.templateId);
      const rings = request.rings.length > 0 ? readRings(request.rings, errors) : [...(template?.rings ?? [])];
      const wanted = readLimits({ ...template?.limits, ...limitsNamed(request) }, rings.length, errors);
      if (Object.keys(errors).length > 0 || version === null) throw validationError(errors);
      if (request.allowDowngrade && request.rollbackNote === "") {
        throw new AppError("rollback_note_required", "Going back needs a signed rollback note");
      }
      if (!request.allowDowngrade && request.rollbackNote !== "") {
        throw validationError({ rollbackNote: ["Needs allowDowngrade: true"] });
      }
      const counts = await countRings(rings, deps.countDevices, { needed: true });
      for (const [at, ring] of rings.entries()) ring.devices = counts[at]?.own ?? 0;
      const at = now();
      return idempotentTx(db, context, RolloutService.method.createRollout, request, checkedBefore, async (tx) => {
        const [release] = await lockReleasesOf(tx, version, request.component);
        if (!release || release.yanked_at !== null) throw versionNotFound();
        if (request.allowDowngrade) await requireNote(tx, deps.plan, release, request.rollbackNote, at);
        else await requireNewer(tx, release);
        await requireTrusted(tx, deps.plan, [release]);
        if ((await countStaged(tx)) >= deps.stagedMax) {
          const text = `At most ${deps.stagedMax} staged rollouts at a time`;
          throw new AppError("limit_reached", text, { facts: { limit: deps.stagedMax } });
        }
        const id = uuidv7(at.getTime());
        const by = context.caller.actor.id;
        const row = {
          id,
          release_id: release.id,
          kind: "staged",
          state: "running",
          rings,
          rollback_note: request.rollbackNote || null,
          created_by: by,
          created_at: at,
        };
        await insertRollout(tx, { ...row, ...wanted } as Parameters<typeof insertRollout>[1]);
        const name = `${release.component} ${release.version}`;
        const from = { ...(template && { template: template.name }), allowDowngrade: request.allowDowngrade };
        const named = rings.map((ring) => ring.name);
        const after = { component: release.component, version, ...wanted, rings: named, ...from };
        const details = { changes: { before: {}, after } };
        auditRelease(tx, context, { action: "agent_update.rollout.create", id, name, details }, at);
        await bumpPlan(tx, { scope: "all" });
        return { rollout: await shownTo(deps, tx, context, await existingRollout(tx, id)) };
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
        row.wave_success_percent = request.waveSuccessPercent ?? row.wave_success_percent;
        checkLimits(row, row.rings.length, errors);
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
        if (change === "resume") await acceptOrRefuse(tx, row, acceptFailures);
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

/** The note permits every organization's devices to go back to the release. Throws `validation_failed`. */
async function requireNote(tx: Tx, plan: PlanMemory, release: ReleaseRow, text: string, now: Date): Promise<void> {
  const note = (await plan.read(tx, [])).openRollback(text);
  const wanted = { component: release.component, version: release.version, orgId: null, now };
  const problem = note === null ? "is not signed by a key of the manifests" : refusalOfNote(note, wanted);
  if (problem !== null) throw validationError({ rollbackNote: [`The note ${problem}`] });
}

/** Devices take a rolled out version before the promoted one: it must be newer. */
async function requireNewer(tx: Tx, { component, version }: ReleaseRow): Promise<void> {
  const promoted = (await promotedVersions(tx))[component];
  if (promoted === undefined || compareVersions(version, promoted) > 0) return;
  const reason = version === promoted ? "Is promoted already" : `Must be newer than the promoted version ${promoted}`;
  throw validationError({ version: [reason] });
}

async function shownTo({ ramp }: RolloutDeps, tx: Tx, context: CallContext, row: ShownRollout) {
  return rolloutMessage(row, context, { halted: await haltedParts(tx, [row.id]), ramp });
}

const altered = (
  deps: RolloutDeps,
  context: CallContext,
  id: string,
  change: (tx: Tx, row: ShownRollout) => Promise<RolloutChange>,
) => alterRollout(deps, context, id, change, async (tx, row) => ({ rollout: await shownTo(deps, tx, context, row) }));

const notRunning = (state: string) =>
  new AppError("rollout_not_running", `The rollout is ${state}`, { facts: { state } });
