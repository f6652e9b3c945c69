import type { CallOptions, Client } from "@connectrpc/connect";
import { counter, keepWorking, type Logger } from "@muster/kit";
import type { DeviceFacts } from "@muster/proto/muster/common/v1/device_pb";
import type { DeviceAnswer, ListChangesResponse, UpdateService } from "@muster/proto/muster/release/v1/update_pb";
import { BoundedMap } from "@muster/rpc";
import { batched } from "./batched.ts";

export type UpdateReport = {
  component: string;
  version: string;
  state: string;
  error: string;
  bytesDone: bigint;
  bytesTotal: bigint;
};

/**
 * The updates of devices. Rules are agent-release's: only "nothing to do" is cached here, and for how long
 * it counts.
 */
export type UpdateAnswers = {
  /**
   * Version of the device's row for which there is nothing to do; 0 when agent-release must be called, -1 during a
   * backoff.
   */
  knownVersion(deviceId: string): bigint;
  /** What a device should do; null when agent-release is away or slow. Never throws. */
  request(device: DeviceFacts, report: UpdateReport | null): Promise<DeviceAnswer | null>;
  /** Reads immediately what was changed through this gateway. Never throws. */
  refresh(): Promise<void>;
  stop(): Promise<void>;
};

type Nothing = { version: bigint; epoch: bigint; untilMs: number; orgId: string; partnerId: string };

const pollEveryMs = 1_000;
const idlePollMs = 10_000;
const callMs = 2_000;
/** Timeout of a heartbeat's call: an offer granted after it is repeated with the next heartbeat. */
const timeoutMs = 500;
const quietMaxMs = 30_000;
/** agent-release decides about at most as many in one transaction. */
const batches = { max: 500, callsMax: 2 };
const scopesMax = 50_000;

const answers = counter(
  "muster_gateway_update_answers_total",
  "Answers to heartbeats about updates, by their source.",
  ["source"],
);

/** Calls agent-release for devices without a cached answer, and follows its changes. */
export function createUpdateAnswers(options: {
  updates: Pick<Client<typeof UpdateService>, "decide" | "listChanges">;
  call(timeoutMs: number): Promise<CallOptions>;
  max: number;
  log: Logger;
  nowMs?: () => number;
}): UpdateAnswers {
  const { updates, call, max, log, nowMs = () => performance.now() } = options;
  const nothing = new BoundedMap<string, Nothing>(max);
  const changed = { all: 0n, by: new Map<string, bigint>() };
  let epoch = 0n;
  let quietUntilMs = Number.NEGATIVE_INFINITY;
  let quietMs = 0;
  /** After a failure single heartbeats find out whether it is over. */
  let probing = false;

  const isQuiet = () => probing || nowMs() < quietUntilMs;
  const skip = () => {
    answers.inc({ source: "skipped" });
    return -1n;
  };
  const failed = (err: unknown) => {
    quietMs = Math.min(quietMaxMs, Math.max(pollEveryMs, quietMs * 2));
    quietUntilMs = nowMs() + quietMs;
    log.warn({ err, quietMs }, "agent-release not called during a backoff: heartbeats are answered without updates");
  };

  const decide = batched(async (questions: readonly { device: DeviceFacts; report: UpdateReport | null }[]) => {
    const devices = questions.map(({ device, report }) => ({ device, ...(report ? { report } : {}) }));
    const reply = await updates.decide({ devices }, await call(callMs));
    reply.answers.forEach((answer, at) => {
      const { device } = devices[at] as { device: DeviceFacts };
      if (answer.offers.length > 0 || answer.validForMs <= 0n) nothing.delete(device.id);
      else {
        nothing.set(device.id, {
          version: device.version,
          epoch: reply.epoch,
          untilMs: nowMs() + Number(answer.validForMs),
          orgId: device.orgId,
          partnerId: device.partnerId,
        });
      }
    });
    return reply.answers;
  }, batches);

  const take = ({ changes, reset, epoch: at }: ListChangesResponse) => {
    if (reset || changed.by.size > scopesMax) {
      nothing.clear();
      changed.by.clear();
      changed.all = at;
    }
    for (const { scope, id, epoch: since } of changes) {
      if (scope === "all") changed.all = since;
      else changed.by.set(id, since);
    }
    epoch = at;
  };
  const poll = async () => take(await updates.listChanges({ since: epoch }, await call(callMs)));
  // Without a cached answer to keep current, this call only registers the gateway.
  let polledMs = Number.NEGATIVE_INFINITY;
  const pollIfNeeded = async () => {
    if (nothing.size === 0 && nowMs() - polledMs < idlePollMs) return;
    polledMs = nowMs();
    await poll();
  };
  const polling = keepWorking(pollEveryMs, pollIfNeeded, (err) =>
    log.debug({ err }, "changes of updates not read now"),
  );

  return {
    knownVersion(deviceId) {
      const cached = nothing.get(deviceId);
      if (cached === undefined) return isQuiet() ? skip() : 0n;
      const isStale =
        cached.untilMs <= nowMs() ||
        cached.epoch < changed.all ||
        cached.epoch < (changed.by.get(cached.orgId) ?? 0n) ||
        cached.epoch < (changed.by.get(cached.partnerId) ?? 0n);
      if (isStale) {
        nothing.delete(deviceId);
        return isQuiet() ? skip() : 0n;
      }
      answers.inc({ source: "cache" });
      return cached.version;
    },
    async request(device, report) {
      if (isQuiet()) {
        skip();
        return null;
      }
      answers.inc({ source: "service" });
      const isProbe = quietMs > 0;
      probing = isProbe;
      try {
        const answer = await within(decide({ device, report }), timeoutMs);
        quietMs = 0;
        return answer;
      } catch (error) {
        if (nowMs() >= quietUntilMs) failed(error);
        return null;
      } finally {
        if (isProbe) probing = false;
      }
    },
    refresh: () => poll().catch((err: unknown) => log.debug({ err }, "changes of updates not read now")),
    stop: () => polling.stop(),
  };
}

/** The result when it arrives in time; a later one is still cached. */
async function within<T>(promise: Promise<T>, ms: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${ms} ms`)), ms);
  });
  promise.catch(() => undefined);
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
