import type { MessageInitShape } from "@bufbuild/protobuf";
import type { CallOptions, Client } from "@connectrpc/connect";
import type { HeartbeatSchema, PresenceService } from "@muster/proto/muster/tenancy/v1/presence_pb";
import { batched } from "./auth/batched.ts";

/** What tenancy made of a heartbeat; status is empty when there is no such device. */
export type Heard = { status: string; heartbeatIntervalSeconds: number };

export type Heartbeats = (heartbeat: MessageInitShape<typeof HeartbeatSchema>) => Promise<Heard>;

const timeoutMs = 5_000;
/** Tenancy takes at most as many in one transaction. */
const batches = { max: 500, callsMax: 2 };

/** Passes heartbeats on, those of one moment together; each resolves once it is committed. Throws AppError. */
export function createHeartbeats(options: {
  presence: Client<typeof PresenceService>;
  /** Options of a call made in the gateway's own name. */
  call(timeoutMs: number): Promise<CallOptions>;
  rethrow(thrown: unknown): never;
}): Heartbeats {
  const { presence, call, rethrow } = options;
  return batched(async (heartbeats) => {
    const reply = await presence
      .recordHeartbeats({ heartbeats: [...heartbeats] }, await call(timeoutMs))
      .catch(rethrow);
    const { results, heartbeatIntervalSeconds } = reply;
    return results.map(({ status }) => ({ status, heartbeatIntervalSeconds }));
  }, batches);
}
