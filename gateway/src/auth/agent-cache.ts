import { equals } from "@bufbuild/protobuf";
import { AppError, type Caller, counter, gauge, type Logger } from "@muster/kit";
import {
  type AgentRecord,
  AgentRecordSchema,
  type ResolveAgentResponse,
} from "@muster/proto/muster/identity/v1/edge_pb";
import type { Agent } from "../route/credential.ts";
import { createFreshCache } from "./fresh-cache.ts";
import type { Lease } from "./lease.ts";
import { hasTenantStatuses } from "./tenant-status.ts";

export type AgentCache = {
  /**
   * The agent whose token has this SHA-256 digest (base64). Throws AppError `agent_token_invalid`,
   * `agent_token_revoked`, `rate_limited` when too many unknown ones came from the client's address, or `unavailable`.
   */
  get(digest: string, clientAddress?: () => string | null): Agent | Promise<Agent>;
  /**
   * Invalidates an agent that changed: `digests` are those of all tokens that it has or had. Each is resolved again
   * before its next use.
   */
  changed(change: { deviceId: string; digests: readonly string[] }): void;
  /** Marks the cached agents that match as stale. */
  forget(matches: (agent: Agent) => boolean): void;
  dropAll(): void;
  readonly size: number;
};

export type AgentCacheOptions = {
  resolve(digest: Uint8Array, clientAddress: string | null): Promise<ResolveAgentResponse>;
  lease: Pick<Lease, "covers" | "awake">;
  max: number;
  log: Logger;
  /** Called with each agent that left the cache because it may have changed. */
  onDrop?: (deviceId: string) => void;
  nowMs?: () => number;
};

/**
 * Longer than the cache times of keys: an agent calls about once a minute and would miss the cache every time. Changes
 * invalidate the cache through the lease in any case.
 */
export const agentLife = { freshMs: 5 * 60_000, hardMs: 15 * 60_000 };

const refusals: readonly string[] = ["agent_token_invalid", "agent_token_revoked"];
const lookups = counter("muster_gateway_agent_lookups_total", "Agent token look-ups by the source of the answer.", [
  "result",
]);
const entries = gauge("muster_gateway_agent_cache_entries", "Agents, and refusals of tokens, cached by this gateway.");

const noAddress = () => null;

/** Agents as identity last described them, for as long as the lease covers that. */
export function createAgentCache(options: AgentCacheOptions): AgentCache {
  const { resolve, lease, max, log, onDrop = () => {}, nowMs = () => performance.now() } = options;
  const cache = createFreshCache<Agent>({
    lease,
    max,
    isRefusal: (error) => error instanceof AppError && refusals.includes(error.code),
    merge: (before, after) => (equals(AgentRecordSchema, before.record, after.record) ? before : after),
    onDrop: (agent) => onDrop(agent.id),
    log,
    lookups,
    entries,
    nowMs,
    life: agentLife,
  });
  const lookUp = async (digest: string, clientAddress: string | null) =>
    agentOf(await resolve(Buffer.from(digest, "base64"), clientAddress));

  return {
    get: (digest, clientAddress = noAddress) =>
      cache.get(
        digest,
        () => lookUp(digest, clientAddress()),
        ({ record }) => hasTenantStatuses(record),
      ),
    changed({ digests }) {
      for (const digest of digests) cache.drop(digest);
    },
    forget: (matches) => cache.forget(matches),
    dropAll: () => cache.dropAll(),
    get size() {
      return cache.size;
    },
  };
}

function agentOf({ agent }: ResolveAgentResponse): Agent {
  if (!agent) throw new Error("identity answered without an agent");
  return { kind: "agent", id: agent.deviceId, record: agent, caller: callerOf(agent) };
}

/** An agent acts for its device inside its organization and holds no permission: only agents' routes accept it. */
function callerOf({ deviceId, orgId, partnerId, name }: AgentRecord): Caller {
  return {
    actor: { type: "agent", id: deviceId, email: null, name: name || null, role: null, department: null },
    scope: "organization",
    partnerId,
    orgId,
    orgAccess: { mode: "list", orgIds: [orgId] },
    siteIds: null,
    permissions: [],
    mfaAt: null,
    sessionId: null,
    keyId: null,
  };
}
