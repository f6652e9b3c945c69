import type { EventStore } from "@muster/agent";

/** An event of the system's log, as the platform stores it. */
export type SystemEvent = {
  timestamp: string;
  level: "info" | "warning" | "error" | "critical";
  category: "security" | "hardware" | "application" | "system";
  source: string;
  eventId: string;
  message: string;
  details?: Record<string, unknown>;
};

/** Events and how far they were read with them. */
export type Reading = { events: SystemEvent[]; cursor: string };

/** Where the events of a system come from. */
export type EventSource = {
  /**
   * Reads on from a cursor (null: from now on) until its signal aborts. `take` stores what was read; the source waits
   * for it.
   */
  follow(cursor: string | null, take: (reading: Reading) => Promise<void>, signal: AbortSignal): Promise<void>;
  /** What live queries read. */
  store: EventStore;
};

const messageMax = 65_536;

/** A text as the platform stores it: NUL and unpaired surrogates are replaced, what is too long is cut. */
export function storable(text: string, max = messageMax): string {
  const cut = text.length <= max ? text : `${text.slice(0, max - 1)}…`;
  return cut.replaceAll("\0", "\uFFFD").replaceAll(/\p{Cs}/gu, "\uFFFD");
}
