import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { Database, Tx } from "@muster/db";
import { uuidv7, zeroUuid } from "@muster/kit";
import {
  AgentChangedSchema,
  KeyChangedSchema,
  PortalLinkRevokedSchema,
  SignInPolicyChangedSchema,
  TenantKeysRevokedSchema,
} from "@muster/proto/muster/events/v1/auth_pb";
import { encode } from "@muster/rpc";
import { appliedEverywhere } from "./applied-everywhere.ts";

/** What gateways must apply before the call that made it true may answer. */
export type CredentialChange =
  | {
      kind: "key";
      keyId: string;
      /** SHA-256 of every secret the key has or had until this change. */
      digests: readonly Uint8Array[];
      version: number;
      revoked: boolean;
    }
  | {
      kind: "agent";
      deviceId: string;
      /** SHA-256 of every token the agent has or had until this change. */
      digests: readonly Uint8Array[];
      version: number;
      revoked: boolean;
    }
  | { kind: "portal"; linkId: string }
  | { kind: "policy"; tenant: "partner" | "organization"; id: string }
  | { kind: "tenant"; tenant: "partner" | "organization"; id: string; revokedAt: Date };

export type AfterChangeDeps = { db: Database };

/** Notifies the gateways with the transaction that makes the change; its id is what `afterChange` waits for. */
export function announce(tx: Tx, change: CredentialChange): string {
  const changeId = uuidv7();
  tx.emit({ ...messageOf(changeId, change), msgId: messageIdOf(changeId) });
  return changeId;
}

/** Resolves when every gateway that may still admit the old state has applied the changes, or lost its lease. */
export function afterChange({ db }: AfterChangeDeps, changeIds: readonly string[]): Promise<void> {
  return appliedEverywhere(db, changeIds.map(messageIdOf));
}

const messageIdOf = (changeId: string) => `${zeroUuid}/change-${changeId}`;

function messageOf(changeId: string, change: CredentialChange): { subject: string; body: Uint8Array } {
  if (change.kind === "key") {
    const { keyId, digests, version, revoked } = change;
    const body = encode(KeyChangedSchema, {
      changeId,
      keyId,
      digests: [...digests],
      version: BigInt(version),
      revoked,
    });
    return { subject: "auth.key", body };
  }
  if (change.kind === "agent") {
    const { deviceId, digests, version, revoked } = change;
    const body = encode(AgentChangedSchema, {
      changeId,
      deviceId,
      digests: [...digests],
      version: BigInt(version),
      revoked,
    });
    return { subject: "auth.agent", body };
  }
  if (change.kind === "portal") {
    const body = encode(PortalLinkRevokedSchema, { changeId, linkId: change.linkId });
    return { subject: "auth.portal", body };
  }
  if (change.kind === "policy") {
    const { tenant, id } = change;
    return { subject: "auth.policy", body: encode(SignInPolicyChangedSchema, { changeId, kind: tenant, id }) };
  }
  const { tenant, id, revokedAt } = change;
  const body = encode(TenantKeysRevokedSchema, {
    changeId,
    kind: tenant,
    id,
    revokedAt: timestampFromDate(revokedAt),
  });
  return { subject: "auth.keys", body };
}
