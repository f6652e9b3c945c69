import type { ServiceImpl } from "@connectrpc/connect";
import type { Tx } from "@muster/db";
import { AppError, type CallContext, type FieldErrors, uuidv7, validationError } from "@muster/kit";
import { type CreateRolloutRequest, RolloutService } from "@muster/proto/muster/release/v1/rollout_pb";
import { callContext } from "@muster/rpc";
import { checkedBefore, idempotentTx } from "@muster/service";
import { existingRollout } from "../commands/alter-rollout.ts";
import { pinOfPartner } from "../commands/pin-partner.ts";
import type { PlanMemory } from "../commands/plan-memory.ts";
import { requireTrusted, versionNotFound } from "../commands/promote.ts";
import { countRings, readRings } from "../commands/read-rings.ts";
import { auditRelease } from "../emits/audit.ts";
import { type Component, isComponent } from "../rules/component.ts";
import type { Ring } from "../rules/ring.ts";
import { refusalOfNote } from "../rules/rollback-note.ts";
import { limitsNamed, type RolloutLimits, readLimits } from "../rules/rollout-limits.ts";
import { compareVersions, parseVersion } from "../rules/version.ts";
import { bumpPlan } from "../store/plan.ts";
import { promotedVersions } from "../store/promotions.ts";
import { lockReleasesOf, type ReleaseRow } from "../store/releases.ts";
import { countStaged, insertRollout, scopeOf } from "../store/rollouts.ts";
import { actAsService, ownerOf, requireRolloutOperator, requireWholePartner } from "./guards.ts";
import { type RolloutDeps, shownTo } from "./rollout-shown.ts";
import { namedTemplate } from "./template.ts";

type Handlers = ServiceImpl<typeof RolloutService>;

/** Counts the devices of rings, of a partner those of its own. */
export function rolloutPreview(deps: RolloutDeps): Pick<Handlers, "previewRings"> {
  return {
    async previewRings(request, handler) {
      const context = callContext(handler);
      requireRolloutOperator(context, deps.mfaMaxAgeMinutes);
      requireWholePartner(context);
      const errors: FieldErrors = {};
      const rings = readRings(request.rings, errors);
      if (rings.length === 0) errors.rings = ["Must have at least one"];
      if (Object.keys(errors).length > 0) throw validationError(errors);
      const counts = await countRings(rings, deps.countDevices, { needed: false, partnerId: ownerOf(context) });
      return { devices: counts.map(({ devices }) => devices), ownDevices: counts.map(({ own }) => own) };
    },
  };
}

/** Staged rollouts of the platform, and of partners for their own devices. */
export function rolloutCreation(deps: RolloutDeps): Pick<Handlers, "createRollout"> {
  return {
    async createRollout(request, handler) {
      const context = callContext(handler);
      requireRolloutOperator(context, deps.mfaMaxAgeMinutes);
      requireWholePartner(context);
      const wanted = await readWanted(deps, context, request);
      const at = deps.now();
      return idempotentTx(deps.db, context, RolloutService.method.createRollout, request, checkedBefore, async (tx) => {
        await actAsService(tx);
        return insertWanted(tx, deps, context, wanted, at);
      });
    },
  };
}

type Wanted = {
  component: Component;
  version: string;
  rings: Ring[];
  limits: RolloutLimits;
  template: string | null;
  partnerId: string | null;
  /** Permits devices to go back; empty: they do not. */
  rollbackNote: string;
};

/** Throws `validation_failed` with every error, `rollback_note_required`, `rollout_template_not_found`. */
async function readWanted(deps: RolloutDeps, context: CallContext, request: CreateRolloutRequest): Promise<Wanted> {
  const partnerId = ownerOf(context);
  const { component, allowDowngrade, rollbackNote } = request;
  const version = parseVersion(request.version);
  const errors: FieldErrors = {};
  if (!isComponent(component)) errors.component = ["Must be agent, watchdog or helper"];
  if (version === null) errors.version = ["Must be a semantic version"];
  const template = await namedTemplate(deps.db, context, request.templateId);
  const rings = request.rings.length > 0 ? readRings(request.rings, errors) : [...(template?.rings ?? [])];
  const limits = readLimits({ ...template?.limits, ...limitsNamed(request) }, rings.length, errors);
  if (Object.keys(errors).length > 0 || version === null || !isComponent(component)) throw validationError(errors);
  if (allowDowngrade && rollbackNote === "") {
    throw new AppError("rollback_note_required", "Going back needs a signed rollback note");
  }
  if (!allowDowngrade && rollbackNote !== "") throw validationError({ rollbackNote: ["Needs allowDowngrade: true"] });
  const counts = await countRings(rings, deps.countDevices, { needed: true, partnerId });
  for (const [at, ring] of rings.entries()) ring.devices = counts[at]?.own ?? 0;
  return { component, version, rings, limits, template: template?.name ?? null, partnerId, rollbackNote };
}

async function insertWanted(tx: Tx, deps: RolloutDeps, context: CallContext, wanted: Wanted, at: Date) {
  const { component, version, rings, limits, partnerId, rollbackNote } = wanted;
  const allowDowngrade = rollbackNote !== "";
  const [release] = await lockReleasesOf(tx, version, component);
  if (!release || release.yanked_at !== null) throw versionNotFound();
  if (allowDowngrade) await requireNote(tx, deps.plan, release, rollbackNote, at);
  else await requireNewer(tx, release, partnerId);
  await requireTrusted(tx, deps.plan, [release]);
  if ((await countStaged(tx, partnerId)) >= deps.stagedMax) {
    const text = `At most ${deps.stagedMax} staged rollouts at a time`;
    throw new AppError("limit_reached", text, { facts: { limit: deps.stagedMax } });
  }
  const id = uuidv7(at.getTime());
  const by = { created_by: context.caller.actor.id, created_at: at };
  const own = { id, release_id: release.id, partner_id: partnerId, rings, rollback_note: rollbackNote || null };
  await insertRollout(tx, { ...own, kind: "staged", state: "running", ...by, ...limits });
  const named = rings.map((ring) => ring.name);
  const from = { ...(wanted.template !== null && { template: wanted.template }), allowDowngrade };
  const details = { changes: { before: {}, after: { component, version, ...limits, rings: named, ...from } } };
  const name = `${component} ${version}`;
  auditRelease(tx, context, { action: "agent_update.rollout.create", id, name, partnerId, details }, at);
  await bumpPlan(tx, scopeOf({ partner_id: partnerId }));
  return { rollout: await shownTo(deps, tx, context, await existingRollout(tx, id, { partnerId })) };
}

/** The note permits every organization's devices to go back to the release. Throws `validation_failed`. */
async function requireNote(tx: Tx, plan: PlanMemory, release: ReleaseRow, text: string, now: Date): Promise<void> {
  const note = (await plan.read(tx, [])).openRollback(text);
  const wanted = { component: release.component, version: release.version, orgId: null, now };
  const problem = note === null ? "is not signed by a key of the manifests" : refusalOfNote(note, wanted);
  if (problem !== null) throw validationError({ rollbackNote: [`The note ${problem}`] });
}

/** Devices take a rolled out version before the partner's pin, or the promoted one: it must be newer. */
async function requireNewer(tx: Tx, { component, version }: ReleaseRow, partnerId: string | null): Promise<void> {
  const pinned = partnerId === null ? null : await pinOfPartner(tx, partnerId, component);
  const target = pinned ?? (await promotedVersions(tx))[component];
  if (target === undefined || compareVersions(version, target) > 0) return;
  const kind = pinned === null ? "promoted" : "pinned";
  const reason = version === target ? `Is ${kind} already` : `Must be newer than the ${kind} version ${target}`;
  throw validationError({ version: [reason] });
}
