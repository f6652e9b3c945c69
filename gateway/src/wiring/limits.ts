import { type AgentRates, createAgentRates } from "../auth/agent-rates.ts";
import type { RateLimiter } from "../auth/rate-limit.ts";
import type { Config } from "../config.ts";
import { type AddressRates, createAddressRates } from "../http/address-rates.ts";
import { type Bodies, createBodies } from "../http/bodies.ts";
import { createDirectorySlots, type DirectorySlots } from "../http/directory-slots.ts";
import { watchLoopLag } from "../http/loop-lag.ts";
import { createShedder, type Shedder } from "../http/shedding.ts";
import { createSignInQueue, type SignInQueue } from "../http/sign-in-queue.ts";

export type Limits = {
  shedder: Shedder;
  bodies: Bodies;
  signIns: SignInQueue;
  directorySlots: DirectorySlots;
  agentRates: AgentRates;
  addressRates: AddressRates;
  /** Ends the watch on the event loop. */
  stop(): void;
};

/** The limits on requests of this gateway, besides the hourly limits of credentials that all gateways share. */
export function createLimits(config: Config, rates: RateLimiter): Limits {
  const shedder = createShedder({
    caps: {
      interactive: config.IN_FLIGHT_MAX_INTERACTIVE,
      ingest: config.IN_FLIGHT_MAX_INGEST,
      enrollment: config.IN_FLIGHT_MAX_ENROLLMENT,
      export: config.IN_FLIGHT_MAX_EXPORT,
      stream: config.IN_FLIGHT_MAX_STREAM,
      download: config.IN_FLIGHT_MAX_DOWNLOAD,
    },
    organizationPercent: config.IN_FLIGHT_ORGANIZATION_PERCENT,
    anonymousPercent: config.IN_FLIGHT_ANONYMOUS_PERCENT,
    downloadsPerNetwork: config.DOWNLOADS_PER_NETWORK,
    agentMax: config.AGENT_IN_FLIGHT_MAX,
    lagMaxMs: config.EVENT_LOOP_LAG_MAX_MS,
  });
  const bodies = createBodies({
    max: config.BODY_CONCURRENCY,
    bytesMax: config.BODY_BYTES_MAX,
    ownerPercent: config.IN_FLIGHT_ORGANIZATION_PERCENT,
    graceMs: config.BODY_GRACE_MS,
    minBytesPerSecond: config.BODY_MIN_BYTES_PER_SECOND,
  });
  const signIns = createSignInQueue({
    perSecond: config.SIGN_INS_STARTED_PER_SECOND,
    queuedMax: config.SIGN_INS_QUEUED_MAX,
  });
  const directorySlots = createDirectorySlots(config.DIRECTORY_CONCURRENCY);
  const agentRates = createAgentRates({
    rates,
    limit: config.AGENT_RATE_LIMIT,
    perMinute: config.AGENT_REQUESTS_PER_MINUTE,
    max: config.AGENT_CACHE_MAX,
  });
  const addressRates = createAddressRates({
    perMinute: { sso: config.SSO_REQUESTS_PER_MINUTE, portal: config.PORTAL_REQUESTS_PER_MINUTE },
    max: config.ADDRESSES_COUNTED_MAX,
  });
  const lag = watchLoopLag((p99Ms) => shedder.observeLag(p99Ms));
  return { shedder, bodies, signIns, directorySlots, agentRates, addressRates, stop: lag.stop };
}
