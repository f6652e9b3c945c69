import { createHash } from "node:crypto";
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
  /** A cursor is of one source: another one begins anew. */
  readonly name: string;
  /**
   * Reads on from a cursor (null: from now on) until its signal aborts. `take` stores what was read; the source waits
   * for it.
   */
  follow(cursor: string | null, take: (reading: Reading) => Promise<void>, signal: AbortSignal): Promise<void>;
  /** What live queries read; null where they are not supported yet. */
  store: EventStore | null;
};

const messageMax = 65_536;

/** An id of a record that its source names by more than a number: the same for the same parts. */
export const idOf = (...parts: readonly string[]): string =>
  createHash("sha256").update(parts.join("\n")).digest("hex").slice(0, 32);

/** A text as the platform stores it: NUL and unpaired surrogates are replaced, what is too long is cut. */
export function storable(text: string, max = messageMax): string {
  const cut = text.length <= max ? text : `${text.slice(0, max - 1)}…`;
  return cut.replaceAll("\0", "\uFFFD").replaceAll(/\p{Cs}/gu, "\uFFFD");
}
