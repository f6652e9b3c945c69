import { counter, type Logger } from "@muster/kit";
import {
  AgentChangedSchema,
  KeyChangedSchema,
  PortalLinkRevokedSchema,
  RoleChangedSchema,
  SessionRevokedSchema,
  SignInPolicyChangedSchema,
  TenantKeysRevokedSchema,
  TenantStatusChangedSchema,
  UserChangedSchema,
} from "@muster/proto/muster/events/v1/auth_pb";
import { decode } from "@muster/rpc";
import type { AgentCache } from "./agent-cache.ts";
import type { KeyCache } from "./key-cache.ts";
import { lru } from "./lru.ts";
import type { PortalCache } from "./portal-cache.ts";
import type { RateLimiter } from "./rate-limit.ts";
import type { SessionCache } from "./session-cache.ts";

/** A message of stream AUTH, from heartbeats or the stream. */
export type AuthChange = { id: string; subject: string; body: Uint8Array };

export type AuthChanges = {
  /** Applies changes that have not been applied yet, and then acknowledges them to identity. */
  take(changes: readonly AuthChange[]): void;
  /** Changes may have been missed: nothing cached is used any more. */
  dropAll(): void;
};

export type AuthChangesOptions = {
  sessions: Pick<SessionCache, "forget" | "dropAll" | "revoked">;
  keys: Pick<KeyCache, "forget" | "dropAll" | "changed">;
  agents: Pick<AgentCache, "forget" | "dropAll" | "changed">;
  portals: Pick<PortalCache, "forget" | "dropAll">;
  rates: Pick<RateLimiter, "changed">;
  acknowledge(changeIds: readonly string[]): Promise<void>;
  log: Logger;
};

/** Ids kept to know repeats: a heartbeat brings at most 1,000. */
const seenMax = 20_000;
const acknowledgedMax = 1_000;

const messages = counter("muster_gateway_auth_messages_total", "Messages of the AUTH stream by subject.", ["subject"]);

/** What revocations and other changes do here, and their acknowledgement. */
export function createAuthChanges(options: AuthChangesOptions): AuthChanges {
  const { sessions, keys, agents, portals, acknowledge, log } = options;
  const seen = lru<true>(seenMax);
  const applied: string[] = [];
  let acknowledging = false;

  const dropAll = () => {
    sessions.dropAll();
    keys.dropAll();
    agents.dropAll();
    portals.dropAll();
  };

  const sendAcknowledgements = async (): Promise<void> => {
    if (acknowledging) return;
    acknowledging = true;
    try {
      while (applied.length > 0) await acknowledge(applied.splice(0, acknowledgedMax));
    } catch (err) {
      // A change that is not acknowledged takes effect when the lease ends.
      log.warn({ err }, "applied changes not acknowledged");
    } finally {
      acknowledging = false;
    }
  };

  return {
    take(changes) {
      for (const { id, subject, body } of changes) {
        if (seen.has(id)) continue;
        messages.labels(subject).inc();
        try {
          apply(subject, body, options);
        } catch (err) {
          // The revoked credentials are unknown, so every cached credential is resolved again.
          log.error({ err, subject }, "unreadable message on the AUTH stream");
          dropAll();
        }
        seen.set(id, true);
        applied.push(id);
      }
      void sendAcknowledgements();
    },
    dropAll,
  };
}

/** Kinds this version does not know belong to credentials it does not serve. */
function apply(
  subject: string,
  body: Uint8Array,
  { sessions, keys, agents, portals, rates }: AuthChangesOptions,
): void {
  switch (subject) {
    case "auth.session":
      sessions.revoked(decode(SessionRevokedSchema, body).sessionId);
      break;
    case "auth.user": {
      const { userId } = decode(UserChangedSchema, body);
      sessions.forget(({ principal }) => principal.userId === userId);
      // A link ends with its author's right to it.
      portals.forget(({ record }) => record.author?.id === userId);
      break;
    }
    case "auth.role": {
      const { role, partnerId } = decode(RoleChangedSchema, body);
      // Matched by name: a role of another tenant with the same name causes an extra lookup, never a missed one.
      sessions.forget(({ principal }) => principal.role === role && principal.partnerId === partnerId);
      portals.forget(({ record }) => record.author?.type === "user");
      break;
    }
    case "auth.tenant": {
      const { kind, id } = decode(TenantStatusChangedSchema, body);
      sessions.forget(({ principal }) => (kind === "partner" ? principal.partnerId : principal.orgId) === id);
      keys.forget(({ record }) => (kind === "partner" ? record.partnerId : record.orgId) === id);
      agents.forget(({ record }) => (kind === "partner" ? record.partnerId : record.orgId) === id);
      portals.forget(({ record }) => (kind === "partner" ? record.partnerId : record.orgId) === id);
      break;
    }
    case "auth.policy": {
      const { kind, id } = decode(SignInPolicyChangedSchema, body);
      sessions.forget(({ principal }) => (kind === "partner" ? principal.partnerId : principal.orgId) === id);
      break;
    }
    case "auth.key": {
      const { keyId, version, digests } = decode(KeyChangedSchema, body);
      keys.changed({ keyId, version, digests: digests.map((digest) => Buffer.from(digest).toString("base64")) });
      rates.changed(keyId);
      portals.forget(({ record }) => record.author?.id === keyId);
      break;
    }
    case "auth.agent": {
      const { deviceId, digests } = decode(AgentChangedSchema, body);
      agents.changed({ deviceId, digests: digests.map((digest) => Buffer.from(digest).toString("base64")) });
      break;
    }
    case "auth.portal": {
      const { linkId } = decode(PortalLinkRevokedSchema, body);
      portals.forget(({ id }) => id === linkId);
      break;
    }
    case "auth.keys": {
      const { kind, id } = decode(TenantKeysRevokedSchema, body);
      sessions.forget(({ principal }) => (kind === "partner" ? principal.partnerId : principal.orgId) === id);
      keys.forget(({ record }) => (kind === "partner" ? record.partnerId : record.orgId) === id);
      agents.forget(({ record }) => (kind === "partner" ? record.partnerId : record.orgId) === id);
      portals.forget(({ record }) => (kind === "partner" ? record.partnerId : record.orgId) === id);
      break;
    }
  }
}
