import type { MessageInitShape } from "@bufbuild/protobuf";
import type { CallOptions, Client } from "@connectrpc/connect";
import { counter, sleep } from "@muster/kit";
import type { DeviceAnswer, Offer } from "@muster/proto/muster/release/v1/update_pb";
import type { HeartbeatSchema, PresenceService } from "@muster/proto/muster/tenancy/v1/presence_pb";
import { overloaded } from "../errors.ts";
import { batched } from "./batched.ts";
import type { UpdateAnswers, UpdateReport, WantedFacts } from "./update-answers.ts";

/** What became of a heartbeat; status is empty when there is no such device. */
export type HeartbeatResult = { status: string; heartbeatIntervalSeconds: number; offers: readonly Offer[] };

type ReportedHeartbeat = Omit<
  MessageInitShape<typeof HeartbeatSchema>,
  "$typeName" | "knownVersion" | "updateEnded"
> & {
  deviceId: string;
};
export type Heartbeats = (heartbeat: ReportedHeartbeat, report: UpdateReport | null) => Promise<HeartbeatResult>;

const timeoutMs = 5_000;
/** Tenancy accepts at most this many per transaction. */
const batches = { max: 500, callsMax: 2 };
/** Milliseconds before each repeat of a heartbeat whose device is locked: its batch does not wait for it. */
const lockPausesMs = [100, 300, 1_000];
const endings = ["locked", "failed", "rolled_back"];

const unstored = counter(
  "muster_gateway_update_states_dropped_total",
  "Update states of devices that tenancy did not store; later decisions repeat them.",
);

/**
 * Forwards heartbeats, batched; each resolves once it is committed and, if the device's updates may have changed,
 * agent-release has decided them. Throws AppError.
 */
export function createHeartbeats(options: {
  presence: Pick<Client<typeof PresenceService>, "recordHeartbeats" | "recordUpdateStates">;
  updates: UpdateAnswers;
  /** Options of a call made in the gateway's own name. */
  call(timeoutMs: number): Promise<CallOptions>;
  rethrow(thrown: unknown): never;
}): Heartbeats {
  const { presence, updates, call, rethrow } = options;
  const record = batched(async (heartbeats: readonly MessageInitShape<typeof HeartbeatSchema>[]) => {
    const reply = await presence
      .recordHeartbeats({ heartbeats: [...heartbeats] }, await call(timeoutMs))
      .catch(rethrow);
    const { results, heartbeatIntervalSeconds } = reply;
    return results.map(({ status, facts }) => ({ status, facts, heartbeatIntervalSeconds }));
  }, batches);

  const states = batched(async (changed: readonly { deviceId: string; state: string }[]) => {
    await presence.recordUpdateStates({ states: [...changed] }, await call(timeoutMs));
    return changed.map(() => null);
  }, batches);
  // The heartbeat does not wait: what is not stored now is after the next decision.
  const note = (changed: { deviceId: string; state: string }) => {
    states(changed).catch(() => unstored.inc());
  };

  return async (heartbeat, report) => {
    const knownVersion = versionOf(report === null ? updates.wanted(heartbeat.deviceId) : "any");
    const updateEnded = report !== null && endings.includes(report.state);
    const { status, facts, ...rest } = await unlocked(() => record({ knownVersion, updateEnded, ...heartbeat }));
    if (!facts) return { status, offers: [], ...rest };
    const answer = await updates.request(facts, report);
    if (answer && answer.updateState !== facts.updateState) note({ deviceId: facts.id, state: answer.updateState });
    return { status: statusOf(status, answer), offers: answer?.offers ?? [], ...rest };
  };
}

/** As the message has it: a version, 0 for any facts, -1 for none. */
const versionOf = (wanted: WantedFacts): bigint => (wanted === "any" ? 0n : wanted === "none" ? -1n : wanted.otherThan);

/** The status after what agent-release has decided: tenancy answered before. */
function statusOf(status: string, answer: DeviceAnswer | null): string {
  if (answer?.updating) return "updating";
  return answer?.ended && status === "updating" ? "online" : status;
}

/** Repeats the heartbeat of a device that a transaction holds, by itself. Throws `overloaded` when that lasts. */
async function unlocked<A extends { status: string }>(record: () => Promise<A>): Promise<A> {
  for (const pauseMs of [...lockPausesMs, null]) {
    const answer = await record();
    if (answer.status !== "locked") return answer;
    if (pauseMs !== null) await sleep(pauseMs);
  }
  throw overloaded(5, new Error("a transaction holds the row of the device"));
}
