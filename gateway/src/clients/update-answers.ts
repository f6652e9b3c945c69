import type { CallOptions, Client } from "@connectrpc/connect";
import { counter, keepWorking, type Logger } from "@muster/kit";
import type { DeviceFacts } from "@muster/proto/muster/common/v1/device_pb";
import type { DeviceAnswer, ListChangesResponse, UpdateService } from "@muster/proto/muster/release/v1/update_pb";
import { BoundedMap } from "@muster/rpc";
import { batched } from "./batched.ts";

export type UpdateReport = {
  component: "agent" | "watchdog" | "helper";
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
  /** Whether a heartbeat's reply must have the facts of its device, for which agent-release is called then. */
  wanted(deviceId: string): WantedFacts;
  /** What a device should do; null when agent-release is away or slow. Never throws. */
  request(device: DeviceFacts, report: UpdateReport | null): Promise<DeviceAnswer | null>;
  /** Reads immediately what was changed through this gateway. Never throws. */
  refresh(): Promise<void>;
  stop(): Promise<void>;
};

/** Of a device with another version than the one for which there is nothing to do; `none` during a backoff. */
export type WantedFacts = "any" | "none" | { otherThan: bigint };

type Question = { device: DeviceFacts; report: UpdateReport | null };
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

export type UpdateAnswersOptions = {
  updates: Pick<Client<typeof UpdateService>, "decide" | "listChanges">;
  call(timeoutMs: number): Promise<CallOptions>;
  /** Answers cached at most. */
  max: number;
  log: Logger;
  nowMs?: () => number;
};

/** Calls agent-release for devices without a cached answer, and follows its changes. */
export function createUpdateAnswers(options: UpdateAnswersOptions): UpdateAnswers {
  return new Answers(options);
}

class Answers implements UpdateAnswers {
  readonly #updates: UpdateAnswersOptions["updates"];
  readonly #call: UpdateAnswersOptions["call"];
  readonly #log: Logger;
  readonly #nowMs: () => number;
  readonly #nothing: BoundedMap<string, Nothing>;
  readonly #changed = { all: 0n, by: new Map<string, bigint>() };
  #epoch = 0n;
  #quietUntilMs = Number.NEGATIVE_INFINITY;
  #quietMs = 0;
  /** After a failure single heartbeats find out whether it is over. */
  #probing = false;
  readonly #decide: (question: Question) => Promise<DeviceAnswer>;
  // Without a cached answer to keep current, this call only registers the gateway.
  #polledMs = Number.NEGATIVE_INFINITY;
  readonly #polling: ReturnType<typeof keepWorking>;

  constructor(options: UpdateAnswersOptions) {
    const { updates, call, max, log, nowMs = () => performance.now() } = options;
    this.#updates = updates;
    this.#call = call;
    this.#log = log;
    this.#nowMs = nowMs;
    this.#nothing = new BoundedMap<string, Nothing>(max);
    this.#decide = batched((questions: readonly Question[]) => this.#ask(questions), batches);
    this.#polling = keepWorking(pollEveryMs, this.#pollIfNeeded, (err) =>
      this.#log.debug({ err }, "changes of updates not read now"),
    );
  }

  async #ask(questions: readonly Question[]): Promise<DeviceAnswer[]> {
    const devices = questions.map(({ device, report }) => ({ device, ...(report ? { report } : {}) }));
    const reply = await this.#updates.decide({ devices }, await this.#call(callMs));
    reply.answers.forEach((answer, at) => {
      const { device } = devices[at] as { device: DeviceFacts };
      if (answer.offers.length > 0 || answer.validForMs <= 0n) this.#nothing.delete(device.id);
      else {
        this.#nothing.set(device.id, {
          version: device.version,
          epoch: reply.epoch,
          untilMs: this.#nowMs() + Number(answer.validForMs),
          orgId: device.orgId,
          partnerId: device.partnerId,
        });
      }
    });
    return reply.answers;
  }

  #isQuiet() {
    return this.#probing || this.#nowMs() < this.#quietUntilMs;
  }

  #skip(): "none" {
    answers.inc({ source: "skipped" });
    return "none";
  }

  #failed(err: unknown) {
    this.#quietMs = Math.min(quietMaxMs, Math.max(pollEveryMs, this.#quietMs * 2));
    this.#quietUntilMs = this.#nowMs() + this.#quietMs;
    this.#log.warn(
      { err, quietMs: this.#quietMs },
      "agent-release not called during a backoff: heartbeats are answered without updates",
    );
  }

  #take({ changes, reset, epoch: at }: ListChangesResponse) {
    if (reset || this.#changed.by.size > scopesMax) {
      this.#nothing.clear();
      this.#changed.by.clear();
      this.#changed.all = at;
    }
    for (const { scope, id, epoch: since } of changes) {
      if (scope === "all") this.#changed.all = since;
      else this.#changed.by.set(id, since);
    }
    this.#epoch = at;
  }

  async #poll() {
    return this.#take(await this.#updates.listChanges({ since: this.#epoch }, await this.#call(callMs)));
  }

  readonly #pollIfNeeded = async () => {
    if (this.#nothing.size === 0 && this.#nowMs() - this.#polledMs < idlePollMs) return;
    this.#polledMs = this.#nowMs();
    await this.#poll();
  };

  readonly wanted = (deviceId: string): WantedFacts => {
    const cached = this.#nothing.get(deviceId);
    if (cached === undefined) return this.#isQuiet() ? this.#skip() : "any";
    const isStale =
      cached.untilMs <= this.#nowMs() ||
      cached.epoch < this.#changed.all ||
      cached.epoch < (this.#changed.by.get(cached.orgId) ?? 0n) ||
      cached.epoch < (this.#changed.by.get(cached.partnerId) ?? 0n);
    if (isStale) {
      this.#nothing.delete(deviceId);
      return this.#isQuiet() ? this.#skip() : "any";
    }
    answers.inc({ source: "cache" });
    return { otherThan: cached.version };
  };

  readonly request = async (device: DeviceFacts, report: UpdateReport | null): Promise<DeviceAnswer | null> => {
    if (this.#isQuiet()) {
      this.#skip();
      return null;
    }
    answers.inc({ source: "service" });
    const isProbe = this.#quietMs > 0;
    this.#probing = isProbe;
    try {
      const answer = await within(this.#decide({ device, report }), timeoutMs);
      this.#quietMs = 0;
      return answer;
    } catch (error) {
      if (this.#nowMs() >= this.#quietUntilMs) this.#failed(error);
      return null;
    } finally {
      if (isProbe) this.#probing = false;
    }
  };

  readonly refresh = (): Promise<void> => {
    return this.#poll().catch((err: unknown) => this.#log.debug({ err }, "changes of updates not read now"));
  };

  readonly stop = (): Promise<void> => {
    return this.#polling.stop();
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
