import type { MessageInitShape } from "@bufbuild/protobuf";
import { durationMs, timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt";
import type { CallOptions, Client } from "@connectrpc/connect";
import { AppError, isErrorCode } from "@muster/kit";
import type {
  EdgeService,
  FoundKey,
  RefusedKey,
  ResolveAgentResponse,
  ResolveKeysRequest_WantedSchema,
} from "@muster/proto/muster/identity/v1/edge_pb";
import { batched } from "../clients/batched.ts";
import type { AuthChange } from "./auth-changes.ts";
import type { Heartbeat } from "./lease.ts";
import type { RateLimiterOptions } from "./rate-limit.ts";

/** The gateway's own calls to identity, in the gateway's types. All throw AppError. */
export type EdgeClient = Pick<RateLimiterOptions, "reserve" | "settle"> & {
  heartbeat(): Promise<Heartbeat<AuthChange>>;
  leave(): Promise<void>;
  acknowledge(changeIds: readonly string[]): Promise<void>;
  resolveKey(digest: Uint8Array, clientAddress: string | null): Promise<FoundKey>;
  resolveAgent(digest: Uint8Array, clientAddress: string | null): Promise<ResolveAgentResponse>;
  revokedSessions(): Promise<readonly string[]>;
};

/** A heartbeat that is slower has lost most of its lease; a grant that is slower, all of its life. */
const heartbeatTimeoutMs = 1_500;
const reserveTimeoutMs = 1_900;
/** Without a lease, an answer that takes longer would be too old to admit a request. */
const resolveTimeoutMs = 2_000;
/**
 * The first use of a rotated token waits until every gateway has dropped the old one, at worst for the end of a lease.
 */
const resolveAgentTimeoutMs = 3_000;
const settleTimeoutMs = 5_000;

export function createEdgeClient(options: {
  gatewayId: string;
  edge: Client<typeof EdgeService>;
  agentTokens: Pick<Client<typeof EdgeService>, "resolveAgent">;
  /** Options of a call made in the gateway's own name. */
  call(timeoutMs: number, clientAddress?: string | null): Promise<CallOptions>;
  rethrow(thrown: unknown): never;
}): EdgeClient {
  const { gatewayId, edge, agentTokens, call, rethrow } = options;
  const resolveKey = batched<MessageInitShape<typeof ResolveKeysRequest_WantedSchema>, FoundKey>(async (wanted) => {
    const reply = await edge.resolveKeys({ wanted: [...wanted] }, await call(resolveTimeoutMs)).catch(rethrow);
    return reply.outcomes.map(({ outcome }) => (outcome.case === "found" ? outcome.value : refusal(outcome.value)));
  }, keyBatches);
  return {
    async heartbeat() {
      const reply = await edge.heartbeat({ gatewayId }, await call(heartbeatTimeoutMs)).catch(rethrow);
      return { leaseMs: reply.lease ? durationMs(reply.lease) : 0, changes: reply.changes, tooMany: reply.tooMany };
    },
    async leave() {
      await edge.leave({ gatewayId }, await call(heartbeatTimeoutMs)).catch(rethrow);
    },
    async acknowledge(changeIds) {
      await edge.acknowledge({ gatewayId, changeIds: [...changeIds] }, await call(resolveTimeoutMs)).catch(rethrow);
    },
    resolveKey: (digest, clientAddress) => resolveKey({ digest, clientAddress: clientAddress ?? "" }),
    resolveAgent: async (digest, clientAddress) =>
      agentTokens.resolveAgent({ digest }, await call(resolveAgentTimeoutMs, clientAddress)).catch(rethrow),
    async reserve(wants) {
      const reply = await edge.reserve({ wants: [...wants] }, await call(reserveTimeoutMs)).catch(rethrow);
      if (reply.grants.length !== wants.length)
        throw new Error("identity returned another number of grants than requested");
      return {
        leaseMs: reply.lease ? durationMs(reply.lease) : 0,
        nowMs: reply.now ? timestampMs(reply.now) : Date.now(),
        grants: reply.grants.map(({ granted, remaining, slot, resetAt, retryAt, cacheable }) => ({
          granted,
          remaining,
          slot,
          resetAtMs: resetAt ? timestampMs(resetAt) : 0,
          retryAtMs: retryAt ? timestampMs(retryAt) : null,
          cacheable,
        })),
      };
    },
    async settle(sequence, uses) {
      const reported = uses.map(({ lastUsedAtMs, ...use }) => ({ ...use, lastUsedAt: timestampFromMs(lastUsedAtMs) }));
      const request = { gatewayId, sequence: BigInt(sequence), uses: reported };
      await edge.settle(request, await call(settleTimeoutMs)).catch(rethrow);
    },
    async revokedSessions() {
      return (await edge.getFreshState({}, await call(settleTimeoutMs)).catch(rethrow)).revokedSessions;
    },
  };
}

/** Identity accepts at most this many keys per call; four concurrent calls use its connections fully. */
const keyBatches = { max: 500, callsMax: 4 };

function refusal(refused: RefusedKey | undefined): AppError {
  const { code = "", message = "", retryAfterSeconds = 0 } = refused ?? {};
  if (!isErrorCode(code)) return new AppError("internal", "identity refused a key without a reason");
  return new AppError(code, message, retryAfterSeconds > 0 ? { retryAfterSeconds } : {});
}
