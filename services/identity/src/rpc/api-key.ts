import { create } from "@bufbuild/protobuf";
import { timestampDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import type { Tx } from "@muster/db";
import { type CallContext, clampPage, isUuid, uuidv7, validationError } from "@muster/kit";
import { ApiKeySchema, ApiKeyService } from "@muster/proto/muster/identity/v1/api_key_pb";
import { callContext } from "@muster/rpc";
import { changesBetween, checkedBefore, idempotentTx, requireScope, requireWholeOrganization } from "@muster/service";
import { revokeTenantCredentials } from "../commands/revoke-tenant.ts";
import { serializedById } from "../commands/serialized.ts";
import { organizationInScope } from "../commands/tenant-in-scope.ts";
import type { KeyDeps } from "../deps.ts";
import { afterChange } from "../emits/changes.ts";
import { announceKey, recordFact, visibleKeyFields } from "../emits/key-facts.ts";
import { changedKeyFields, maxGraceSeconds, newKeyFields, requireActive } from "../rules/api-key.ts";
import { newApiKey } from "../rules/key-material.ts";
import { requireHeld, requireWithin } from "../rules/scope-ceiling.ts";
import {
  type ApiKeyRow,
  findApiKey,
  insertApiKey,
  listApiKeys,
  lockApiKey,
  revokeApiKeys,
  rotateApiKey,
  updateApiKey,
} from "../store/api-keys.ts";
import { readServicePrincipal } from "../store/service-principals.ts";
import { apiKeyMessage, timeOrNull } from "./api-key-message.ts";
import { apiKeyNotFound, choiceOrNull, heldNow, requireManager, requireReader } from "./guards.ts";
import { organizationFilter } from "./list-filters.ts";

const statuses = ["active", "expired", "revoked"];

type Handlers = ServiceImpl<typeof ApiKeyService>;
type Parts = KeyDeps & { serialized: ReturnType<typeof serializedById> };

/** API keys of organizations (docs/behaviour.md#api-keys). */
export function apiKeyService(base: KeyDeps): ServiceImpl<typeof ApiKeyService> {
  const deps: Parts = { ...base, serialized: serializedById() };
  return { ...apiKeyReads(deps), ...apiKeyChanges(deps), ...apiKeySecrets(deps) };
}

function apiKeyReads(deps: Parts): Pick<Handlers, "listApiKeys" | "getApiKey"> {
  const { db, now } = deps;
  return {
    async listApiKeys(request, handler) {
      const context = callContext(handler);
      requireReader(context);
      const filter = {
        orgId: await organizationFilter(deps, context, request.orgId),
        status: choiceOrNull(request.status, "status", statuses),
        search: request.search,
        expiresBefore: request.expiresBefore ? timestampDate(request.expiresBefore) : null,
      };
      const at = now();
      const { rows, info } = await listApiKeys(db, context, filter, at, clampPage(request.page ?? {}));
      return { apiKeys: rows.map((row) => apiKeyMessage(row, at)), page: info };
    },

    async getApiKey({ id }, handler) {
      const context = callContext(handler);
      requireReader(context);
      const row = isUuid(id) ? await findApiKey(db, context, id) : null;
      if (!row) throw apiKeyNotFound();
      return { apiKey: apiKeyMessage(row, now()) };
    },
  };
}

function apiKeyChanges(deps: Parts): Pick<Handlers, "createApiKey" | "updateApiKey" | "revokeApiKey"> {
  const { db, now } = deps;
  return {
    async createApiKey(request, handler) {
      const context = callContext(handler);
      requireWriter(deps, context);
      const at = now();
      const fields = newKeyFields({ ...request, expiresAt: timeOrNull(request.expiresAt) }, at);
      const tenant = await organizationInScope(deps, context, request.orgId);
      requireHeld(await heldNow(deps, context), fields.scopes);
      const material = newApiKey();
      const owner = { ...tenant, createdBy: context.caller.actor.id, principalId: null };
      const make = async (tx: Tx) => {
        const created = await insertApiKey(tx, uuidv7(at.getTime()), { ...fields, ...owner }, material, at);
        const changes = { before: {}, after: visibleKeyFields(created) };
        const details = { keyPrefix: created.key_prefix, changes };
        recordFact(tx, context, created, { action: "api_key.create", details }, at);
        return { apiKey: apiKeyMessage(created, at), key: material.key };
      };
      return idempotentTx(db, context, ApiKeyService.method.createApiKey, request, checkedBefore, make, deps.box);
    },

    async updateApiKey({ id, updateMask, apiKey }, handler) {
      const context = callContext(handler);
      requireWriter(deps, context);
      const at = now();
      const changed = changedKeyFields(updateMask?.paths ?? [], apiKey ?? create(ApiKeySchema));
      // Every change except that of the name may extend the key's rights: the changed key is checked like a new grant.
      const grants =
        changed.scopes !== undefined || changed.rateLimit !== undefined || changed.allowedIps !== undefined;
      const held = grants ? await heldNow(deps, context) : [];
      const { row, changeId } = await change(deps, context, id, async (tx) => {
        const stored = await lock(tx, context, id);
        if (grants) requireHeld(held, changed.scopes ?? stored.scopes);
        if (changed.scopes && stored.principal_id) {
          requireWithin((await readServicePrincipal(tx, stored.principal_id)).scopes, changed.scopes);
        }
        requireActive(stored, at);
        const { name, scopes, rate_limit: rateLimit, allowed_ips: allowedIps } = stored;
        const updated = await updateApiKey(tx, stored.id, { name, scopes, rateLimit, allowedIps, ...changed }, at);
        const differences = changesBetween(visibleKeyFields(stored), visibleKeyFields(updated));
        const details = { keyPrefix: updated.key_prefix, ...differences };
        recordFact(tx, context, updated, { action: "api_key.update", details }, at);
        return { row: updated, changeId: announceKey(tx, stored, updated) };
      });
      await afterChange(deps, [changeId]);
      return { apiKey: apiKeyMessage(row, at) };
    },

    async revokeApiKey({ id }, handler) {
      const context = callContext(handler);
      requireWriter(deps, context);
      const at = now();
      const changeId = await change(deps, context, id, async (tx) => {
        const stored = await lock(tx, context, id);
        const [revoked] = await revokeApiKeys(tx, [stored.id], at);
        if (revoked) {
          const details = { keyPrefix: revoked.key_prefix };
          recordFact(tx, context, revoked, { action: "api_key.revoke", details }, at);
        }
        // Announced again for a key that is already revoked: the first call may still be waiting, and this one
        // guarantees the same.
        return announceKey(tx, stored, revoked ?? stored);
      });
      await afterChange(deps, [changeId]);
      return {};
    },
  };
}

function apiKeySecrets(deps: Parts): Pick<Handlers, "rotateApiKey" | "revokeTenantCredentials"> {
  const { db, now, serialized } = deps;
  return {
    async rotateApiKey(request, handler) {
      const { id, graceSeconds } = request;
      const context = callContext(handler);
      requireWriter(deps, context);
      if (graceSeconds < 0 || graceSeconds > maxGraceSeconds) {
        throw validationError({ graceSeconds: [`A whole number from 0 to ${maxGraceSeconds}`] });
      }
      const at = now();
      const held = await heldNow(deps, context);
      const material = newApiKey();
      let changes: string[] = [];
      const locate = (tx: Tx) => lock(tx, context, id);
      const rotate = async (tx: Tx, stored: Awaited<ReturnType<typeof locate>>) => {
        requireHeld(held, stored.scopes);
        requireActive(stored, at);
        if (stored.principal_id && graceSeconds > 0) {
          throw validationError({ graceSeconds: ["Not for the key of a service principal, which has one secret"] });
        }
        const graceUntil = graceSeconds === 0 ? null : new Date(at.getTime() + graceSeconds * 1000);
        const rotated = await rotateApiKey(tx, stored.id, material, graceUntil, at);
        const details = { keyPrefix: rotated.key_prefix, previousKeyPrefix: stored.key_prefix, graceSeconds };
        recordFact(tx, context, rotated, { action: "api_key.rotate", details }, at);
        changes = [announceKey(tx, stored, rotated)];
        return { apiKey: apiKeyMessage(rotated, at), key: material.key };
      };
      const method = ApiKeyService.method.rotateApiKey;
      const reply = await serialized(id, () => idempotentTx(db, context, method, request, locate, rotate, deps.box));
      await afterChange(deps, changes);
      return reply;
    },

    revokeTenantCredentials(request, handler) {
      const context = callContext(handler);
      requireScope(context, "system", "partner");
      requireManager(context, deps);
      requireWholeOrganization(context);
      return revokeTenantCredentials(deps, context, request);
    },
  };
}

function change<T>({ db, serialized }: Parts, context: CallContext, id: string, work: (tx: Tx) => Promise<T>) {
  return serialized(id, () => db.tx(context, work));
}

function requireWriter(deps: Parts, context: CallContext) {
  requireManager(context, deps);
  requireWholeOrganization(context);
}

async function lock(tx: Tx, context: CallContext, id: string): Promise<ApiKeyRow> {
  const row = isUuid(id) ? await lockApiKey(tx, context, id) : null;
  if (!row) throw apiKeyNotFound();
  return row;
}
