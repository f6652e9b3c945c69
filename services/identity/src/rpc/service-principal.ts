import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import type { Tx } from "@muster/db";
import { AppError, type CallContext, clampPage, isUuid, uuidv7 } from "@muster/kit";
import {
  type ServicePrincipal,
  ServicePrincipalSchema,
  ServicePrincipalService,
} from "@muster/proto/muster/identity/v1/service_principal_pb";
import { callContext } from "@muster/rpc";
import { checkedBefore, idempotentTx, requireWholeOrganization } from "@muster/service";
import { serializedById } from "../commands/serialized.ts";
import { organizationInScope } from "../commands/tenant-in-scope.ts";
import type { KeyDeps } from "../deps.ts";
import { afterChange } from "../emits/changes.ts";
import { announceKey, recordFact } from "../emits/key-facts.ts";
import { defaultRateLimit, requireActive } from "../rules/api-key.ts";
import { keyChecks } from "../rules/key-fields.ts";
import { newApiKey } from "../rules/key-material.ts";
import { commonScopes, requireHeld, validScopes } from "../rules/scope-ceiling.ts";
import { type ApiKeyRow, adoptApiKey, insertApiKey, lockPrincipalKeys, revokeApiKeys } from "../store/api-keys.ts";
import {
  disablePrincipal,
  findServicePrincipal,
  insertPrincipal,
  listServicePrincipals,
  lockPrincipal,
  type PrincipalRecord,
  readServicePrincipal,
  touchPrincipal,
} from "../store/service-principals.ts";
import { apiKeyMessage } from "./api-key-message.ts";
import { apiKeyNotFound, choiceOrNull, heldNow, requireManager, requireReader } from "./guards.ts";
import { organizationFilter } from "./list-filters.ts";

const statuses = ["active", "disabled"];

type Handlers = ServiceImpl<typeof ServicePrincipalService>;
type Parts = KeyDeps & { serialized: ReturnType<typeof serializedById> };

/** Identities that own a key and outlive the user who created them (docs/behaviour.md#service-principals). */
export function servicePrincipalService(base: KeyDeps): ServiceImpl<typeof ServicePrincipalService> {
  const deps: Parts = { ...base, serialized: serializedById() };
  return { ...principalReads(deps), ...principalChanges(deps), ...principalKeys(deps) };
}

function principalReads(deps: Parts): Pick<Handlers, "listServicePrincipals" | "getServicePrincipal"> {
  const { db } = deps;
  return {
    async listServicePrincipals(request, handler) {
      const context = callContext(handler);
      requireViewer(context);
      const filter = {
        orgId: await organizationFilter(deps, context, request.orgId),
        status: choiceOrNull(request.status, "status", statuses),
        search: request.search,
      };
      const { rows, info } = await listServicePrincipals(db, context, filter, clampPage(request.page ?? {}));
      return { principals: rows.map(principalMessage), page: info };
    },

    async getServicePrincipal({ id }, handler) {
      const context = callContext(handler);
      requireViewer(context);
      const row = isUuid(id) ? await findServicePrincipal(db, context, id) : null;
      if (!row) throw principalNotFound();
      return { principal: principalMessage(row) };
    },
  };
}

function principalChanges(deps: Parts): Pick<Handlers, "createServicePrincipal" | "disableServicePrincipal"> {
  const { db, now } = deps;
  return {
    async createServicePrincipal(request, handler) {
      const context = callContext(handler);
      requireWriter(deps, context);
      const at = now();
      const check = keyChecks();
      const name = check.name(request.name);
      check.done();
      const scopes = validScopes(request.scopes);
      const tenant = await organizationInScope(deps, context, request.orgId);
      requireHeld(await heldNow(deps, context), scopes);
      const id = uuidv7(at.getTime());
      const material = newApiKey();
      const wanted = { ...tenant, name, scopes, createdBy: context.caller.actor.id };
      const unlimited = { expiresAt: null, rateLimit: defaultRateLimit, allowedIps: [] };
      const make = async (tx: Tx) => {
        await insertPrincipal(tx, id, wanted, at);
        const first = { ...wanted, ...unlimited, principalId: id };
        const key = await insertApiKey(tx, uuidv7(at.getTime()), first, material, at);
        const principal = await readServicePrincipal(tx, id);
        const changes = { before: {}, after: { name, scopes } };
        const details = { keyId: key.id, keyName: key.name, keyPrefix: key.key_prefix, changes };
        recordFact(tx, context, principal, { action: "service_principal.create", details }, at);
        return { principal: principalMessage(principal), apiKey: apiKeyMessage(key, at), key: material.key };
      };
      const { createServicePrincipal } = ServicePrincipalService.method;
      return idempotentTx(db, context, createServicePrincipal, request, checkedBefore, make, deps.box);
    },

    async disableServicePrincipal({ id }, handler) {
      const context = callContext(handler);
      requireWriter(deps, context);
      const at = now();
      const { principal, changes } = await change(deps, context, id, async (tx) => {
        const stored = await lock(tx, context, id);
        if (stored.status === "disabled") return { principal: stored, changes: [] };
        const active = await lockPrincipalKeys(tx, stored);
        const [changed, , principal] = await Promise.all([
          revoke(tx, active, at),
          disablePrincipal(tx, stored.id, at),
          readServicePrincipal(tx, stored.id),
        ]);
        const details = { revokedKeys: active.map((key) => key.key_prefix) };
        recordFact(tx, context, stored, { action: "service_principal.disable", details }, at);
        return { principal, changes: changed };
      });
      await afterChange(deps, changes);
      return { principal: principalMessage(principal) };
    },
  };
}

function principalKeys(deps: Parts): Pick<Handlers, "rotatePrincipalKey" | "migrateKey"> {
  const { db, now, serialized } = deps;
  return {
    async rotatePrincipalKey(request, handler) {
      const { id } = request;
      const context = callContext(handler);
      requireWriter(deps, context);
      const at = now();
      const held = await heldNow(deps, context);
      const material = newApiKey();
      let changes: string[] = [];
      const locate = (tx: Tx) => lock(tx, context, id);
      const rotate = async (tx: Tx, stored: Awaited<ReturnType<typeof locate>>) => {
        requireHeld(held, stored.scopes);
        requireEnabled(stored);
        const active = await lockPrincipalKeys(tx, stored);
        const next = successor(stored, active[0], context, at);
        // Pipelined, executed in this order: other transactions wait for the lock during every round trip.
        const [changed, issued, , principal] = await Promise.all([
          revoke(tx, active, at),
          insertApiKey(tx, uuidv7(at.getTime()), next, material, at),
          touchPrincipal(tx, stored.id, at),
          readServicePrincipal(tx, stored.id),
        ]);
        const previousKeyPrefix = stored.key_prefix;
        const details = { keyId: issued.id, keyName: issued.name, keyPrefix: issued.key_prefix, previousKeyPrefix };
        recordFact(tx, context, stored, { action: "service_principal.rotate_key", details }, at);
        changes = changed;
        return { principal: principalMessage(principal), apiKey: apiKeyMessage(issued, at), key: material.key };
      };
      const { rotatePrincipalKey } = ServicePrincipalService.method;
      const reply = await serialized(id, () =>
        idempotentTx(db, context, rotatePrincipalKey, request, locate, rotate, deps.box),
      );
      await afterChange(deps, changes);
      return reply;
    },

    async migrateKey(request, handler) {
      const { id, keyId } = request;
      const context = callContext(handler);
      requireWriter(deps, context);
      const at = now();
      const held = await heldNow(deps, context);
      let changes: string[] = [];
      const locate = (tx: Tx) => lock(tx, context, id);
      const adopt = async (tx: Tx, principal: Awaited<ReturnType<typeof locate>>) => {
        const keys = isUuid(keyId) ? await lockPrincipalKeys(tx, principal, keyId) : [];
        const stored = keys.find((candidate) => candidate.id === keyId);
        if (!stored) throw apiKeyNotFound();
        const scopes = commonScopes(principal.scopes, stored.scopes);
        requireHeld(held, scopes);
        requireEnabled(principal);
        requireActive(stored, at);
        const previous = keys.filter((other) => other.id !== stored.id);
        // Before the adoption: the index allows one active key of a principal.
        const [revoked, adopted] = await Promise.all([
          revoke(tx, previous, at),
          adoptApiKey(tx, stored.id, { principalId: principal.id, scopes }, at),
          touchPrincipal(tx, principal.id, at),
        ]);
        const details = {
          keyId: adopted.id,
          keyName: adopted.name,
          keyPrefix: adopted.key_prefix,
          previousKeyPrefix: previous[0]?.key_prefix ?? null,
          changes: { before: { scopes: stored.scopes }, after: { scopes: adopted.scopes } },
        };
        recordFact(tx, context, principal, { action: "service_principal.migrate_key", details }, at);
        changes = [...revoked, announceKey(tx, stored, adopted)];
        return { apiKey: apiKeyMessage(adopted, at) };
      };
      const { migrateKey } = ServicePrincipalService.method;
      const reply = await serialized(id, () => idempotentTx(db, context, migrateKey, request, locate, adopt));
      await afterChange(deps, changes);
      return reply;
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

function requireViewer(context: CallContext) {
  requireReader(context);
  requireWholeOrganization(context);
}

async function lock(tx: Tx, context: CallContext, id: string): Promise<PrincipalRecord> {
  const row = isUuid(id) ? await lockPrincipal(tx, context, id) : null;
  if (!row) throw principalNotFound();
  return row;
}

async function revoke(tx: Tx, keys: readonly ApiKeyRow[], at: Date): Promise<string[]> {
  const ids = keys.map((key) => key.id);
  return (await revokeApiKeys(tx, ids, at)).map((row) => announceKey(tx, row, row));
}

/** The principal's scopes, and the limits of its previous key; an expiry in the past is not copied. */
function successor(principal: PrincipalRecord, previous: ApiKeyRow | undefined, { caller }: CallContext, at: Date) {
  const expiresAt = previous?.expires_at ?? null;
  return {
    name: principal.name,
    scopes: principal.scopes,
    expiresAt: expiresAt !== null && expiresAt > at ? expiresAt : null,
    rateLimit: previous?.rate_limit ?? defaultRateLimit,
    allowedIps: previous?.allowed_ips ?? [],
    orgId: principal.org_id,
    partnerId: principal.partner_id,
    createdBy: caller.actor.id,
    principalId: principal.id,
  };
}

function requireEnabled({ status }: PrincipalRecord): void {
  if (status === "disabled") throw new AppError("principal_disabled", "Service principal is disabled");
}

const principalNotFound = () => new AppError("service_principal_not_found", "Service principal not found");

function principalMessage(row: PrincipalRecord): ServicePrincipal {
  return create(ServicePrincipalSchema, {
    id: row.id,
    orgId: row.org_id,
    partnerId: row.partner_id,
    name: row.name,
    scopes: row.scopes,
    status: row.status,
    keyPrefix: row.key_prefix ?? "",
    createdBy: row.created_by,
    createdAt: timestampFromDate(row.created_at),
    updatedAt: timestampFromDate(row.updated_at),
  });
}
