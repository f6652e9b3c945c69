import type { Caller } from "@muster/kit";
import type { AgentRecord, KeyRecord } from "@muster/proto/muster/identity/v1/edge_pb";
import type { Principal } from "@muster/proto/muster/identity/v1/session_pb";

/**
 * A signed-in person: what identity said, and the caller that services are shown. The same object until something
 * changes.
 */
export type Session = { kind: "session"; id: string; principal: Principal; caller: Caller };

/** An API key: what identity said, and the caller that services are shown. The same object until something changes. */
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

/** An agent: what identity said, and the caller that services are shown. The same object until something changes. */
export type Agent = {
  kind: "agent";
  /** Of the device, which is the agent's own. */
  id: string;
  record: AgentRecord;
  caller: Caller;
};

/** Whoever was authenticated. */
export type Credential = Session | KeyHolder | Agent;
