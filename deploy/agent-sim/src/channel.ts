import { answerOf, type ChannelOptions as BaseOptions, type Channel, openChannel as openBase } from "@muster/agent";
import type { EventStore } from "./event-store.ts";

export type { Channel } from "@muster/agent";

/** How an agent treats live queries. */
export type ChannelBehaviour = "normal" | "silent" | "slow" | "garbage";

export type ChannelOptions = Omit<BaseOptions, "answer"> & {
  store: EventStore;
  behave?: ChannelBehaviour;
  /** Milliseconds that a slow agent takes. */
  slowMs?: number;
};

/** Keeps one agent's channel open and answers its live queries, well or badly, until stopped. */
export function openChannel({ store, behave = "normal", slowMs = 5_000, ...options }: ChannelOptions): Channel {
  return openBase({
    ...options,
    async answer(operation, params, signal) {
      if (behave === "silent") return new Promise(() => {});
      if (behave === "slow") await waited(slowMs, signal);
      if (behave === "garbage") return { text: "\u0001 no answer {" };
      return answerOf(store, operation, params);
    },
  });
}

/** Resolves after the time, or never once the signal aborts. */
function waited(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => clearTimeout(timer), { once: true });
  });
}
