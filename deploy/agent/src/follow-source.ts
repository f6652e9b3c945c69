import type { Spool, Stopping } from "@muster/agent";
import { messageOf } from "@muster/kit/agent";
import { readStored, writeDurably } from "./durable.ts";
import type { EventSource } from "./hosts/event-source.ts";
import type { Logger } from "./logger.ts";

const sourceRetryMs = 10_000;
/** Between two looks whether the spool has room. */
const roomMs = 200;

type Following = { source: EventSource; events: Spool; cursorFile: string; log: Logger; stopping: Stopping };

/**
 * Moves a source's events into the spool, and stores the cursor after them. While the spool has no room for them the
 * source waits: its events stay where they are.
 */
export async function followSource({ source, events, cursorFile, log, stopping }: Following): Promise<void> {
  const ending = new AbortController();
  const ends = stopping.pause(2 ** 31 - 1).then(() => ending.abort());
  while (!stopping.stopped) {
    const stored = readStored<{ source?: string; cursor?: string }>(cursorFile) ?? {};
    const isOwn = stored.source === undefined || stored.source === source.name;
    const cursor = isOwn ? (stored.cursor ?? null) : null;
    try {
      await source.follow(
        cursor,
        async (reading) => {
          const lines = reading.events.map((event) => JSON.stringify(event));
          while (!events.hasRoomFor(lines) && !stopping.stopped) await stopping.pause(roomMs);
          if (stopping.stopped) return;
          events.append(lines);
          writeDurably(cursorFile, JSON.stringify({ source: source.name, cursor: reading.cursor }));
        },
        ending.signal,
      );
    } catch (error) {
      if (!stopping.stopped) log("warn", "logs", "the system's log cannot be read", { error: messageOf(error) });
    }
    await stopping.pause(sourceRetryMs);
  }
  await ends;
}
