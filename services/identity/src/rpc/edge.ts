import { create } from "@bufbuild/protobuf";
import { durationFromMs, timestampDate, timestampFromDate, timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import { AppError, isUuid, validationError } from "@muster/kit";
import {
  AgentRecordSchema,
  type EdgeService,
  type ReserveRequest_Want,
  type SettleRequest_Use,
} from "@muster/proto/muster/identity/v1/edge_pb";
import { callContext } from "@muster/rpc";
import { resolveAgent } from "../commands/resolve-agent.ts";
import { resolveKeys } from "../commands/resolve-keys.ts";
import { serializedById } from "../commands/serialized.ts";
import type { EdgeDeps } from "../deps.ts";
import { acknowledgementsStored } from "../emits/applied-everywhere.ts";
import { tooManyFailures } from "../rules/attempt-limit.ts";
import { grantMs } from "../rules/rate-window.ts";
import { acknowledge, leaseMs, leave, recentChanges, recentlyRevokedSessions, renewLease } from "../store/gateways.ts";
import { addUse, type CredentialRef, reserve, settle, type Use } from "../store/rate-windows.ts";

const digestBytes = 32;
/** Credentials in one call. */
const batchMax = 2_000;
/**
 * Longest life of an access token (setting ACCESS_TOKEN_TTL_SECONDS): older revocations are refused as expired tokens.
 */
const revokedWithinMs = 65 * 60_000;

type Handlers = ServiceImpl<typeof EdgeService>;
type Parts = EdgeDeps & { serialized: ReturnType<typeof serializedById> };

/** RPCs for gateways only (docs/behaviour.md#gateways). */
export function edgeService(base: EdgeDeps): ServiceImpl<typeof EdgeService> {
  const deps: Parts = { ...base, serialized: serializedById() };
  return { ...leases(deps), ...credentials(deps), ...rates(deps) };
}

function leases({ db }: Parts): Pick<Handlers, "heartbeat" | "acknowledge" | "leave" | "getFreshState"> {
  return {
    async heartbeat({ gatewayId }, handler) {
      requireGateway(handler);
      await renewLease(db, idOf(gatewayId));
      const changes = await recentChanges(db, gatewayId);
      return { lease: durationFromMs(leaseMs), changes: changes ?? [], tooMany: changes === null };
    },

    async acknowledge({ gatewayId, changeIds }, handler) {
      requireGateway(handler);
      bounded(changeIds);
      await acknowledge(db, idOf(gatewayId), changeIds);
      acknowledgementsStored(db);
      return {};
    },

    async leave({ gatewayId }, handler) {
      requireGateway(handler);
      await leave(db, idOf(gatewayId));
      acknowledgementsStored(db);
      return {};
    },

    async getFreshState(_request, handler) {
      requireGateway(handler);
      return { revokedSessions: await recentlyRevokedSessions(db, revokedWithinMs) };
    },
  };
}

function credentials({ db, unknownKeys, now }: Parts): Pick<Handlers, "resolveKeys" | "resolveAgent"> {
  return {
    async resolveKeys({ wanted }, handler) {
      requireGateway(handler);
      bounded(wanted);
      return { outcomes: await resolveKeys({ db, unknownKeys, now }, wanted) };
    },

    async resolveAgent({ digest }, handler) {
      requireGateway(handler);
      const row = digest.length === digestBytes ? await resolveAgent(db, digest, now()) : null;
      if (!row) {
        const until = await unknownKeys.count(callContext(handler).meta.clientAddress);
        throw until ? tooManyFailures(until, now()) : new AppError("agent_token_invalid", "Agent token is invalid");
      }
      const agent = create(AgentRecordSchema, {
        deviceId: row.device_id,
        orgId: row.org_id,
        partnerId: row.partner_id,
        quarantined: row.quarantined,
        version: BigInt(row.version),
        partnerStatus: row.partner_status,
        orgStatus: row.org_status,
        name: row.name ?? "",
      });
      return { agent };
    },
  };
}

function rates(deps: Parts): Pick<Handlers, "reserve" | "settle"> {
  const { db } = deps;
  return {
    async reserve({ wants }, handler) {
      requireGateway(handler);
      bounded(wants);
      const { grants, now: grantedAt } = await reserve(db, wants.map(wantOf));
      return {
        grants: grants.map(({ refusal, resetAtMs, slot, ...grant }) => ({
          ...grant,
          slot: BigInt(slot),
          resetAt: timestampFromMs(resetAtMs),
          ...(refusal ? { retryAt: timestampFromMs(refusal.retryAtMs), cacheable: refusal.cacheable } : {}),
        })),
        lease: durationFromMs(grantMs),
        now: timestampFromDate(grantedAt),
      };
    },

    async settle({ gatewayId, sequence, uses }, handler) {
      requireGateway(handler);
      bounded(uses);
      const late = await settle(db, idOf(gatewayId), Number(sequence), uses.map(useOf));
      if (late.length > 0) void addLater(deps, late);
      return {};
    },
  };
}

// One at a time: each may wait for a lock with a connection.
function addLater({ db, log, serialized }: Parts, uses: readonly Use[]) {
  return serialized("use", () => addUse(db, uses)).catch((err: unknown) =>
    log.warn({ err }, "use of locked keys is not counted"),
  );
}

/**
 * Calls of users, keys and agents also arrive through a gateway, but not in its own name. Throws `permission_denied`.
 */
export function requireGateway(handler: HandlerContext): void {
  const { actor } = callContext(handler).caller;
  if (actor.type !== "system" || actor.id !== "gateway") {
    throw new AppError("permission_denied", "Only gateways may call this");
  }
}

function wantOf({ kind, id, limit, waiting, ahead }: ReserveRequest_Want) {
  if (![limit, waiting, ahead].every((n) => n >= 0)) throw validationError({ wants: ["Counts must not be negative"] });
  return { limit, waiting, ahead, ...refOf(kind, id) };
}

function useOf({ kind, id, slot, unspent, used, lastUsedAt, generation }: SettleRequest_Use): Use {
  if (unspent < 0 || used < 0) throw validationError({ uses: ["Counts must not be negative"] });
  const at = lastUsedAt ? timestampDate(lastUsedAt) : new Date(0);
  return { slot: Number(slot), unspent, used, lastUsedAt: at, generation, ...refOf(kind, id) };
}

function refOf(kind: string, id: string): CredentialRef {
  if (kind !== "key" && kind !== "session" && kind !== "agent" && kind !== "directory") {
    throw validationError({ kind: ["Must be key, session, agent or directory"] });
  }
  return { kind, id: idOf(id) };
}

function idOf(text: string): string {
  if (!isUuid(text)) throw validationError({ id: ["Must be a UUID"] });
  return text;
}

function bounded(list: readonly unknown[]): void {
  if (list.length > batchMax) throw validationError({ list: [`At most ${batchMax}`] });
}
