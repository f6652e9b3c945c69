import type { IncomingMessage, ServerResponse } from "node:http";
import type { AgentRates } from "../auth/agent-rates.ts";
import type { AccessRules, Authenticate } from "../auth/authenticate.ts";
import type { Directories } from "../auth/directory.ts";
import type { Rate } from "../auth/rate-bucket.ts";
import type { RateLimiter } from "../auth/rate-limit.ts";
import type { NoteRefusal } from "../auth/refusals.ts";
import type { Watches } from "../auth/watches.ts";
import type { BodyEnds } from "../request/body-ends.ts";
import type { ClientAddressRule } from "../request/client-address.ts";
import type { Inbound } from "../request/headers.ts";
import type { Credential } from "../route/credential.ts";
import type { Deps } from "../route/deps.ts";
import type { AddressRates } from "./address-rates.ts";
import type { Bodies } from "./bodies.ts";
import type { DirectorySlots } from "./directory-slots.ts";
import type { Served } from "./route-table.ts";
import type { Shedder } from "./shedding.ts";
import type { SignInQueue } from "./sign-in-queue.ts";

export type ExchangeOptions = {
  deps: Deps;
  authenticate: Authenticate;
  directories: Directories;
  rates: Pick<RateLimiter, "count">;
  shedder: Pick<Shedder, "enter" | "enterShare" | "enterAgent" | "leave" | "leaveAgent">;
  bodies: Pick<Bodies, "receive" | "inflate">;
  signIns: SignInQueue;
  directorySlots: DirectorySlots;
  /** Requests per hour of one session. */
  sessionRateLimit: number;
  /** Requests per hour of one token of a directory. */
  directoryRateLimit: number;
  agentRates: AgentRates;
  addressRates: AddressRates;
  accessRules: AccessRules;
  noteRefusal: NoteRefusal;
  /** Called with each request that is refused before its handler (refused-scim.ts). */
  noteScimRefusal(options: ExchangeOptions, exchange: Exchange, error: unknown): void;
  watches: Pick<Watches, "watch">;
  /** While true, long-running work is not continued. */
  draining: () => boolean;
  clientAddress: ClientAddressRule;
  /** Milliseconds since 1970. */
  now: () => number;
};

/** A request that has found its row. */
export type Found = {
  request: IncomingMessage;
  response: ServerResponse;
  inbound: Inbound;
  served: Served;
  rawParams: Record<string, string | undefined>;
  query: string;
  requestId: string;
  startedMs: number;
};

/** One request that has found its row, and what the steps before its handler find out (run-row.ts). */
export type Exchange = Found & {
  /** The caller; null for unauthenticated requests on public routes. */
  session: Credential | null;
  /** Set once the caller is authenticated and the request counted. */
  rate: Rate | null;
  /** Whether it holds a slot of its class now, and the owner of the share that it counts towards. */
  hasSlot: boolean;
  shareOf: string | null;
  /** The agent whose concurrency limit the request counts towards; null before authentication and for other callers. */
  slotOfAgent: string | null;
  /** The directory whose slot the request holds; null before it starts, and for other callers. */
  slotOfDirectory: string | null;
  idempotencyKey: string | null;
  params: { id?: unknown };
  queryValues: unknown;
  /** The body as it came, inflated; null when there is none. */
  sent: Buffer | null;
  /** Of a body that its row answers for itself when it is too large. */
  ends: BodyEnds | null;
  body: unknown;
  bodyBytes: Uint8Array;
  /** The member of the body that its row names as opaque. */
  opaqueJson: string;
};

const nothing = Object.freeze({});
const noBytes = new Uint8Array(0);

// Every key in one literal, without a spread: all requests have one hidden class.
export function beginExchange(found: Found): Exchange {
  const { request, response, inbound, served, rawParams, query, requestId, startedMs } = found;
  return {
    request,
    response,
    inbound,
    served,
    rawParams,
    query,
    requestId,
    startedMs,
    session: null,
    rate: null,
    hasSlot: false,
    shareOf: null,
    slotOfAgent: null,
    slotOfDirectory: null,
    idempotencyKey: null,
    params: nothing,
    queryValues: nothing,
    sent: null,
    ends: null,
    body: undefined,
    bodyBytes: noBytes,
    opaqueJson: "",
  };
}
