import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import type { Tx } from "@muster/db";
import { AppError, type CallContext, clampPage, isUuid, uuidv7 } from "@muster/kit";
import {
  type EnrollmentKey,
  EnrollmentKeySchema,
  EnrollmentKeyService,
} from "@muster/proto/muster/identity/v1/enrollment_key_pb";
import { callContext } from "@muster/rpc";
import { changesBetween, checkedBefore, idempotentTx, siteRestricted } from "@muster/service";
import { organizationInScope } from "../commands/tenant-in-scope.ts";
import type { EnrollmentKeyDeps, KeyDeps } from "../deps.ts";
import { recordFact } from "../emits/key-facts.ts";
import { newEnrollmentFields, newEnrollmentKey, rotatedEnrollmentFields } from "../rules/enrollment-key.ts";
import {
  deleteEnrollmentKey,
  type EnrollmentKeyRow,
  findEnrollmentKey,
  insertEnrollmentKey,
  listEnrollmentKeys,
  lockEnrollmentKey,
  rotateEnrollmentKey,
} from "../store/enrollment-keys.ts";
import { findTenants } from "../store/tenants.ts";
import { timeOrNull } from "./api-key-message.ts";
import { requireManager, requireReader } from "./guards.ts";
import { idOrNull, organizationFilter } from "./list-filters.ts";

type Handlers = ServiceImpl<typeof EnrollmentKeyService>;

/** Short-lived tokens that bring agents into an organization (docs/behaviour.md#enrollment-keys). */
export function enrollmentKeyService(deps: EnrollmentKeyDeps): ServiceImpl<typeof EnrollmentKeyService> {
  return { ...enrollmentKeyReads(deps), ...enrollmentKeyChanges(deps) };
}

function enrollmentKeyReads(deps: EnrollmentKeyDeps): Pick<Handlers, "listEnrollmentKeys" | "getEnrollmentKey"> {
  const { db, now } = deps;
  return {
    async listEnrollmentKeys(request, handler) {
      const context = callContext(handler);
      requireReader(context);
      const filter = {
        orgId: await organizationFilter(deps, context, request.orgId),
        expired: request.expired ?? null,
      };
      const { rows, info } = await listEnrollmentKeys(db, context, filter, now(), clampPage(request.page ?? {}));
      return { enrollmentKeys: rows.map(toMessage), page: info };
    },

    async getEnrollmentKey({ id }, handler) {
      const context = callContext(handler);
      requireReader(context);
      const row = isUuid(id) ? await findEnrollmentKey(db, context, id) : null;
      if (!row) throw notFound();
      return { enrollmentKey: toMessage(row) };
    },
  };
}

function enrollmentKeyChanges(
  deps: EnrollmentKeyDeps,
): Pick<Handlers, "createEnrollmentKey" | "rotateEnrollmentKey" | "deleteEnrollmentKey"> {
  const { db, now, pepper } = deps;
  return {
    async createEnrollmentKey(request, handler) {
      const context = callContext(handler);
      requireManager(context, deps);
      const at = now();
      idOrNull(request.siteId, "siteId");
      const input = { ...request, expiresAt: timeOrNull(request.expiresAt) };
      const fields = newEnrollmentFields(input, at, deps.defaultTtlMinutes);
      requireSite(context, fields.siteId);
      const { caller } = context;
      const orgId = request.orgId || (caller.scope === "organization" ? (caller.orgId ?? "") : "");
      if (orgId === "") throw new AppError("organization_context_required", "Organization context required");
      const tenant = await organizationInScope(deps, context, orgId);
      if (fields.siteId !== null) await requireSiteOf(deps, context, fields.siteId, tenant.orgId);
      const material = { ...newEnrollmentKey(pepper), pepper };
      const owner = { ...tenant, createdBy: caller.actor.id };
      const make = async (tx: Tx) => {
        const created = await insertEnrollmentKey(tx, uuidv7(at.getTime()), { ...fields, ...owner }, material, at);
        const details = { keyPrefix: created.key_prefix, changes: { before: {}, after: visibleFields(created) } };
        recordFact(tx, context, created, { action: "enrollment_key.create", details }, at);
        return { enrollmentKey: toMessage(created), key: material.key };
      };
      const { createEnrollmentKey } = EnrollmentKeyService.method;
      return idempotentTx(db, context, createEnrollmentKey, request, checkedBefore, make, deps.box);
    },

    async rotateEnrollmentKey(request, handler) {
      const { id, usage, expiresAt } = request;
      const context = callContext(handler);
      requireManager(context, deps);
      const at = now();
      const chosen = rotatedEnrollmentFields(usage, timeOrNull(expiresAt), at);
      const material = { ...newEnrollmentKey(pepper), pepper };
      const locate = (tx: Tx) => lock(tx, context, id);
      const rotate = async (tx: Tx, stored: Awaited<ReturnType<typeof locate>>) => {
        const limits = { maxUsage: stored.max_usage, expiresAt: stored.expires_at, ...chosen };
        const rotated = await rotateEnrollmentKey(tx, stored.id, material, limits, at);
        const differences = changesBetween(visibleFields(stored), visibleFields(rotated));
        const details = { keyPrefix: rotated.key_prefix, previousKeyPrefix: stored.key_prefix, ...differences };
        recordFact(tx, context, rotated, { action: "enrollment_key.rotate", details }, at);
        return { enrollmentKey: toMessage(rotated), key: material.key };
      };
      const method = EnrollmentKeyService.method.rotateEnrollmentKey;
      return idempotentTx(db, context, method, request, locate, rotate, deps.box);
    },

    async deleteEnrollmentKey({ id }, handler) {
      const context = callContext(handler);
      requireManager(context, deps);
      const at = now();
      const { id: found } = await db.tx(context, (tx) => lock(tx, context, id));
      // First: when it fails the key is still there, and so is the request to delete it.
      await deps.forgetKey(found);
      await db.tx(context, async (tx) => {
        const stored = await lock(tx, context, id);
        await deleteEnrollmentKey(tx, stored.id);
        const details = { keyPrefix: stored.key_prefix, changes: { before: visibleFields(stored), after: {} } };
        recordFact(tx, context, stored, { action: "enrollment_key.delete", details }, at);
      });
      return {};
    },
  };
}

async function lock(tx: Tx, context: CallContext, id: string): Promise<EnrollmentKeyRow> {
  const row = isUuid(id) ? await lockEnrollmentKey(tx, context, id) : null;
  if (!row) throw notFound();
  requireSite(context, row.site_id);
  return row;
}

/** A user restricted to sites manages only the keys of those sites. */
function requireSite({ caller }: CallContext, siteId: string | null): void {
  if (caller.siteIds !== null && (siteId === null || !caller.siteIds.includes(siteId))) throw siteRestricted();
}

async function requireSiteOf(deps: KeyDeps, context: CallContext, siteId: string, orgId: string): Promise<void> {
  const wanted = { partnerId: null, orgIds: [], siteIds: [siteId] };
  const { sites } = await findTenants(deps, context, wanted);
  if (sites.get(siteId)?.orgId !== orgId) throw new AppError("site_not_found", "Site not found");
}

const notFound = () => new AppError("enrollment_key_not_found", "Enrollment key not found");

const visibleFields = (row: EnrollmentKeyRow) => ({
  name: row.name,
  siteId: row.site_id,
  maxUsage: row.max_usage,
  reinstall: row.reinstall,
  expiresAt: row.expires_at.toISOString(),
});

function toMessage(row: EnrollmentKeyRow): EnrollmentKey {
  return create(EnrollmentKeySchema, {
    id: row.id,
    orgId: row.org_id,
    partnerId: row.partner_id,
    siteId: row.site_id ?? "",
    name: row.name,
    usageCount: row.usage_count,
    ...(row.max_usage === null ? {} : { maxUsage: row.max_usage }),
    expiresAt: timestampFromDate(row.expires_at),
    createdBy: row.created_by,
    createdAt: timestampFromDate(row.created_at),
    reinstall: row.reinstall,
  });
}
