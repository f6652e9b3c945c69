import type { Caller } from "@muster/kit";
import type { AgentRecord, KeyRecord } from "@muster/proto/muster/identity/v1/edge_pb";
import type { PortalRecord } from "@muster/proto/muster/identity/v1/portal_pb";
import type { Principal } from "@muster/proto/muster/identity/v1/session_pb";

/**
 * A signed-in user: identity's answer, and the caller presented to services. The same object until something changes.
 */
export type Session = { kind: "session"; id: string; principal: Principal; caller: Caller };

/** An API key: identity's answer, and the caller presented to services. The same object until something changes. */
export type KeyHolder = {
  kind: "key";
  id: string;
  record: KeyRecord;
  caller: Caller;
  /** When it expires or its digest stops counting, milliseconds since 1970; Infinity for never. */
  endsAtMs: number;
  /** Whether it may be used from an address; null when from anywhere. */
  admits: ((address: string) => boolean) | null;
};

/** An agent: identity's answer, and the caller presented to services. The same object until something changes. */
export type Agent = {
  kind: "agent";
  /** Of the device, which is the agent's own. */
  id: string;
  record: AgentRecord;
  caller: Caller;
};

/** A directory by one of its tokens, as far as limits need it; identity checks the token again in each call. */
export type DirectoryClient = {
  kind: "directory";
  id: string;
  tokenId: string;
  /** SHA-256 of the token. */
  digest: Uint8Array;
  caller: Caller;
};

/** A portal session: identity's answer, and the caller presented to services. The same object until it changes. */
export type PortalHolder = {
  kind: "portal";
  /** Of its link. */
  id: string;
  record: PortalRecord;
  caller: Caller;
  /** Milliseconds since 1970. */
  endsAtMs: number;
};

/** The authenticated caller. */
export type Credential = Session | KeyHolder | Agent | DirectoryClient | PortalHolder;
