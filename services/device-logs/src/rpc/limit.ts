import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import { type CallContext, clampPage, validationError } from "@muster/kit";
import {
  type LogLimits as LimitsMessage,
  type LogLimitService,
  LogLimitsSchema,
  LogUsageSchema,
  type OrganizationLogLimits,
  OrganizationLogLimitsSchema,
} from "@muster/proto/muster/devicelogs/v1/limit_pb";
import { callContext } from "@muster/rpc";
import {
  auditEvent,
  requireMfa,
  requirePermission,
  requireScope,
  requireWholeOrganization,
  type TenantReader,
} from "@muster/service";
import { dayOf } from "../commands/log-quotas.ts";
import { changedLimits, type EffectiveLimits, effectiveLimits, type LogLimits, noLimits } from "../rules/log-limits.ts";
import { lockLimits, ownLimits, storeLimits } from "../store/log-limits.ts";
import { findUsage, type LogUsage, listUsage, usageOfRow } from "../store/log-usage.ts";
import { organizationInScope } from "../store/tenants.ts";

export type LimitDeps = TenantReader & { platform: EffectiveLimits; mfaMaxAgeMinutes: number; now: () => Date };

const maxPage = 500;

/** Quota and retention of organizations' logs, and what their agents sent. */
export function logLimitService(deps: LimitDeps): ServiceImpl<typeof LogLimitService> {
  const { db, platform, mfaMaxAgeMinutes, now } = deps;
  return {
    async getLogLimits(request, handler) {
      const context = callContext(handler);
      requirePermission(context, "organizations:read");
      const { orgId } = await organizationInScope(deps, context, request.orgId);
      const own = (await ownLimits(db, context, [orgId])).get(orgId) ?? noLimits;
      return { limits: await shown(deps, context, orgId, own) };
    },

    async updateLogLimits({ orgId: named, updateMask, limits }, handler) {
      const context = callContext(handler);
      requirePermission(context, "organizations:write");
      requireMfa(context, mfaMaxAgeMinutes, now());
      requireWholeOrganization(context);
      const { orgId, partnerId } = await organizationInScope(deps, context, named);
      const { scope, permissions } = context.caller;
      const change = {
        paths: updateMask?.paths ?? [],
        limits: limitsOf(limits),
        isPlatform: scope === "system" && permissions.includes("platform:admin"),
      };
      const after = await db.tx(context, async (tx) => {
        const before = await lockLimits(tx, orgId, partnerId);
        const wanted = changedLimits(before, change, platform);
        await storeLimits(tx, orgId, wanted);
        const resource = { type: "organization", id: orgId, name: null };
        const details = { changes: { before, after: wanted } };
        const fact = { action: "organization.log_limits.update", resource, details, orgId, partnerId };
        tx.emit(auditEvent("device-logs", context, fact, now()));
        return wanted;
      });
      return { limits: await shown(deps, context, orgId, after) };
    },

    async listLogUsage(request, handler) {
      const context = callContext(handler);
      requirePermission(context, "platform:admin");
      requireScope(context, "system");
      const day = request.day || dayOf(now());
      if (!isDay(day)) throw validationError({ day: ["Must be a day such as 2026-01-31"] });
      const page = clampPage(request.page ?? {}, maxPage);
      const listed = await listUsage(db, context, { day, refusedOnly: request.refusedOnly }, page);
      return { usage: listed.rows.map((row) => usageMessage(usageOfRow(row))), page: listed.info };
    },
  };
}

async function shown(
  { db, platform, now }: LimitDeps,
  context: CallContext,
  orgId: string,
  own: LogLimits,
): Promise<OrganizationLogLimits> {
  const day = dayOf(now());
  const usage = await findUsage(db, context, orgId, day);
  return create(OrganizationLogLimitsSchema, {
    orgId,
    own: limitsMessage(own),
    effective: limitsMessage(effectiveLimits(own, platform)),
    today: usageMessage(usage ?? { orgId, partnerId: "", day, rows: 0, bytes: 0, refused: 0 }),
  });
}

function isDay(text: string): boolean {
  const at = new Date(`${text}T00:00:00Z`);
  return /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(at.getTime()) && dayOf(at) === text;
}

function limitsOf(message: LimitsMessage | undefined): LogLimits {
  const { rowsPerDay, bytesPerDay, agentLogDays = null, eventLogDays = null } = message ?? {};
  const count = (value: bigint | undefined) => (value === undefined ? null : Number(value));
  return { rowsPerDay: count(rowsPerDay), bytesPerDay: count(bytesPerDay), agentLogDays, eventLogDays };
}

function limitsMessage({ rowsPerDay, bytesPerDay, agentLogDays, eventLogDays }: LogLimits): LimitsMessage {
  return create(LogLimitsSchema, {
    ...(rowsPerDay === null ? {} : { rowsPerDay: BigInt(rowsPerDay) }),
    ...(bytesPerDay === null ? {} : { bytesPerDay: BigInt(bytesPerDay) }),
    ...(agentLogDays === null ? {} : { agentLogDays }),
    ...(eventLogDays === null ? {} : { eventLogDays }),
  });
}

function usageMessage({ orgId, day, rows, bytes, refused }: LogUsage) {
  const counts = { rows: BigInt(rows), bytes: BigInt(bytes), refused: BigInt(refused) };
  return create(LogUsageSchema, { orgId, day, ...counts });
}
