import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import type { Database } from "@muster/db";
import { AppError, type CallContext, isUuid, systemCaller, validationError } from "@muster/kit";
import type { DeviceFacts } from "@muster/proto/muster/common/v1/device_pb";
import {
  type Attempt,
  AttemptSchema,
  Rule,
  type UpdateReport,
  type UpdateService,
} from "@muster/proto/muster/release/v1/update_pb";
import { callContext } from "@muster/rpc";
import { requirePermission } from "@muster/service";
import type { Tenancy } from "../clients/tenancy.ts";
import { contactDue } from "../commands/contact-due.ts";
import { type DecideDeps, decideForDevices, isOpen, openOf, pastOf } from "../commands/decide.ts";
import type { Report } from "../commands/move-attempts.ts";
import { budgetsFor } from "../commands/rollout-counts.ts";
import { service } from "../config.ts";
import { auditTenant } from "../emits/audit.ts";
import { isComponent } from "../rules/component.ts";
import type { Decision } from "../rules/gate.ts";
import { resolveOffer } from "../rules/open-offer.ts";
import type { Catalogue, PlannedRollout } from "../rules/plan.ts";
import { mergeSettings, nothingSet, windowOf } from "../rules/settings.ts";
import { windowAt } from "../rules/window.ts";
import {
  type AttemptRow,
  attemptsOf,
  newestAttempts,
  openAttempts,
  putRequest,
  recordGatewayContact,
  requestHours,
  requestsOf,
} from "../store/attempts.ts";
import { bumpPlan, changesSince, readEpoch } from "../store/plan.ts";
import { settingsFor, settingsOf } from "../store/settings.ts";
import { isDeletedOrganization } from "../store/tenants.ts";
import { deviceOf } from "./device-facts.ts";
import { asService, requireGateway } from "./guards.ts";
import { shownFields } from "./settings-json.ts";

export type UpdateDeps = DecideDeps & { db: Database; tenancy: Pick<Tenancy, "device"> };

const batchMax = 500;
const changesMax = 1_000;
const shownAttempts = 5;

type Handlers = ServiceImpl<typeof UpdateService>;

/** Null for a component that nothing is offered for. */
const reportOf = ({ component, ...report }: UpdateReport): Report | null =>
  isComponent(component) ? { ...report, component } : null;

/** Update decisions: gateways call for agents, users read the decision and may request an update. */
export function updateService(deps: UpdateDeps): ServiceImpl<typeof UpdateService> {
  return { ...decisions(deps), ...plans(deps) };
}

function decisions(deps: UpdateDeps): Pick<Handlers, "decide" | "getDecision"> {
  const { db, now } = deps;
  return {
    async decide({ devices }, handler) {
      requireGateway(callContext(handler));
      if (devices.length > batchMax || devices.some(({ device }) => !device)) {
        throw validationError({ devices: [`At most ${batchMax}, each with its facts`] });
      }
      const questions = devices.map(({ device, report }) => ({
        device: deviceOf(device as DeviceFacts),
        report: report ? reportOf(report) : null,
      }));
      const { answers, epoch } = await decideForDevices(deps, questions);
      return {
        epoch: BigInt(epoch),
        answers: answers.map(({ offers, validForMs, updating, ended, updateState }) => ({
          offers: offers.map((offer) => ({
            ...offer,
            size: BigInt(offer.size),
            manifest: offer.manifest ?? "",
            rollbackNote: offer.rollbackNote ?? "",
            rootNotes: [...offer.rootNotes],
          })),
          validForMs: BigInt(Math.floor(validForMs)),
          updating,
          ended,
          updateState: updateState ?? "",
        })),
      };
    },

    async getDecision({ deviceId }, handler) {
      const context = callContext(handler);
      requirePermission(context, "devices:read");
      const facts = await deviceInScope(context, deps, deviceId);
      const device = deviceOf(facts);
      const at = now();
      return db.tx(asService(context), async (tx) => {
        const plan = await deps.plan.read(tx, [device.partnerId]);
        const attempts = await attemptsOf(tx, [device.id]);
        const newest = await newestAttempts(tx, device.id, shownAttempts);
        const requestedUntil = (await requestsOf(tx, [device.id])).get(device.id) ?? null;
        const budgets = await budgetsFor(tx, device, deps.ramp);
        const merged = plan.mergedOf(device.partnerId, device.orgId);
        const attempt = attempts.find(isOpen);
        const requested = requestedUntil !== null;
        const input = {
          device,
          merged,
          catalogue: withBudgets(plan.catalogue, device.partnerId, budgets),
          requested,
          rollback: plan.openRollback(merged.settings.rollbackNote ?? null),
          backOffMs: deps.backOffMs,
          now: at,
        };
        const decided = resolveOffer(
          { ...input, attempts: pastOf(attempts) },
          attempt ? openOf(attempt, at) : null,
        ).decisions;
        const rows = await settingsFor(tx, device.partnerId, device.orgId);
        const own = rows.find(({ org_id: orgId }) => orgId === device.orgId);
        const ofPartner = rows.find(({ org_id: orgId }) => orgId === null);
        const fresh = mergeSettings(ofPartner ? settingsOf(ofPartner) : nothingSet, own ? settingsOf(own) : nothingSet);
        const { open, nextOpening } = windowAt(windowOf(fresh.settings), at);
        return {
          components: decided.map(decisionMessage),
          settingsJson: JSON.stringify(shownFields(own ? settingsOf(own) : nothingSet, fresh, "organization")),
          windowOpen: open,
          ...(nextOpening ? { nextOpening: timestampFromDate(nextOpening) } : {}),
          attempts: newest.map(attemptMessage),
          ...(requestedUntil ? { requestedUntil: timestampFromDate(requestedUntil) } : {}),
        };
      });
    },
  };
}

function decisionMessage({ component, current, target, targetSource, rule, detail, recheckAt }: Decision) {
  return {
    component,
    current: current ?? "",
    target: target?.version ?? "",
    targetSource: targetSource ?? "",
    decidingRule: Rule[rule.toUpperCase() as Uppercase<typeof rule>],
    detail,
    nextCheckAt: timestampFromDate(recheckAt),
  };
}

function plans(deps: UpdateDeps): Pick<Handlers, "listChanges" | "requestUpdate"> {
  const { db, now } = deps;
  const isDue = contactDue();
  return {
    async listChanges({ since }, handler) {
      requireGateway(callContext(handler));
      const who = { caller: systemCaller(service) };
      if (isDue()) {
        // The heartbeat matters to open attempts only: without one nothing is written.
        if ((await openAttempts(db, who)).any) await db.tx(who, recordGatewayContact, { retry: true });
      }
      const { epoch, changes } = await db.tx(
        who,
        async (tx) => {
          const at = await readEpoch(tx);
          return { epoch: at, changes: await changesSince(tx, Number(since), at, changesMax) };
        },
        { readOnly: true },
      );
      const listed = (changes ?? []).map((each) => ({
        epoch: BigInt(each.epoch),
        scope: each.scope,
        id: each.id ?? "",
      }));
      return { epoch: BigInt(epoch), changes: listed, reset: changes === null };
    },

    async requestUpdate({ deviceId }, handler) {
      const context = callContext(handler);
      requirePermission(context, "devices:write");
      const facts = await deviceInScope(context, deps, deviceId);
      if (facts.status === "decommissioned") throw new AppError("device_decommissioned", "Device is decommissioned");
      const at = now();
      const expiresAt = new Date(at.getTime() + requestHours * 3_600_000);
      await db.tx(asService(context), async (tx) => {
        const by = context.caller.actor.id;
        await putRequest(tx, { deviceId: facts.id, orgId: facts.orgId, partnerId: facts.partnerId, by, expiresAt });
        const resource = { type: "device", id: facts.id, name: null };
        const fact = { action: "device.update.request", resource, orgId: facts.orgId, partnerId: facts.partnerId };
        auditTenant(tx, context, { ...fact, details: { expiresAt: expiresAt.toISOString() } }, at);
        await bumpPlan(tx, { scope: "organization", id: facts.orgId });
      });
      return { expiresAt: timestampFromDate(expiresAt) };
    },
  };
}

/** The device, when it is in the caller's access scope. Throws `device_not_found`. */
async function deviceInScope(
  context: CallContext,
  { db, tenancy }: Pick<UpdateDeps, "db" | "tenancy">,
  id: string,
): Promise<DeviceFacts> {
  const { caller } = context;
  const facts = isUuid(id) ? await tenancy.device(id.toLowerCase()) : null;
  const isInScope =
    facts !== null &&
    (caller.scope === "system" ||
      (caller.partnerId === facts.partnerId &&
        (caller.scope === "organization"
          ? caller.orgId === facts.orgId
          : caller.orgAccess.mode === "all" || caller.orgAccess.orgIds.includes(facts.orgId)))) &&
    (caller.siteIds === null || caller.siteIds.includes(facts.siteId));
  const isGone =
    isInScope &&
    caller.scope !== "system" &&
    (await db.tx(asService(context), (tx) => isDeletedOrganization(tx, facts.orgId)));
  if (!isInScope || isGone) throw new AppError("device_not_found", "Device not found");
  return facts;
}

/** The catalogue for a device of the partner, with what its rollouts may offer now. */
function withBudgets(catalogue: Catalogue, partnerId: string, budgets: Map<string, number>): Catalogue {
  const withBudget = (rollout: PlannedRollout) => ({ ...rollout, budget: budgets.get(rollout.id) ?? 0 });
  const filled = Object.entries(catalogue).map(([component, { promotedId, releases }]) => [
    component,
    {
      promotedId,
      releases: releases.map((release) => {
        const own = release.ofPartners.get(partnerId) ?? [];
        const ofPartners = new Map([[partnerId, own.map(withBudget)]]);
        return { ...release, guard: withBudget(release.guard), staged: release.staged.map(withBudget), ofPartners };
      }),
    },
  ]);
  return Object.fromEntries(filled) as Catalogue;
}

export function attemptMessage(row: AttemptRow): Attempt {
  return create(AttemptSchema, {
    id: row.id,
    component: row.component,
    version: row.version,
    fromVersion: row.from_version,
    state: row.state,
    reason: row.reason ?? "",
    offeredAt: timestampFromDate(row.offered_at),
    endedAt: row.ended_at ? timestampFromDate(row.ended_at) : undefined,
    rolloutId: row.rollout_id,
    deviceId: row.device_id,
    orgId: row.org_id,
  });
}
