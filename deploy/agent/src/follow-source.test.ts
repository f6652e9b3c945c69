import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { createStopping, openSpool } from "@muster/agent";
import { followSource } from "./follow-source.ts";
import type { EventSource, SystemEvent } from "./hosts/event-source.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "muster-follow-source-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const mebibyte = 1024 * 1024;
const text = "x".repeat(10_000);
const eventOf = (at: number): SystemEvent => ({
  timestamp: "2026-11-27T12:00:00.000Z",
  level: "info",
  category: "system",
  source: "test",
  eventId: String(at),
  message: text,
});

/** A source that has a backlog: readings of `size` events each, one after the other. */
function backlog(readings: number, size: number): EventSource & { ended: Promise<void> } {
  let end: () => void = () => undefined;
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  return {
    name: "backlog",
    store: null,
    ended,
    async follow(_cursor, take) {
      for (let n = 0; n < readings; n++) {
        const events = Array.from({ length: size }, (_each, at) => eventOf(n * size + at));
        await take({ events, cursor: String(n) });
      }
      end();
    },
  };
}

describe("a source with more than the spool holds", () => {
  it("waits for room, so that each event is sent once and in order", async () => {
    const events = openSpool(join(folder, "spool"), 6 * mebibyte);
    const source = backlog(8, 300);
    const stopping = createStopping();
    const cursorFile = join(folder, "cursor.json");
    const following = followSource({ source, events, cursorFile, log: () => undefined, stopping });
    const sent: string[] = [];
    let isRead = false;
    void source.ended.then(() => {
      isRead = true;
    });
    for (;;) {
      const batch = events.next(20, mebibyte);
      if (batch === null && isRead) break;
      for (const line of batch?.lines ?? []) sent.push(JSON.parse(line).eventId);
      batch?.done();
      // The source's turn.
      await new Promise((resolve) => setImmediate(resolve));
    }
    stopping.stop();
    await following;
    expect(sent).toEqual(Array.from({ length: 8 * 300 }, (_each, at) => String(at)));
    expect(events.takeDropped()).toBe(0);
    expect(JSON.parse(readFileSync(cursorFile, "utf8"))).toEqual({ source: "backlog", cursor: "7" });
  });
});
