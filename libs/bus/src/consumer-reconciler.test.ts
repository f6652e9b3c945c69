import { describe, expect, it } from "@jest/globals";
import { resetReason } from "./consumer-reconciler.ts";

const created = "2026-01-01T00:00:00Z";
const stream = { created, lastSeq: 10 };
const consumer = { created: "2026-01-02T00:00:00Z", deliveredSeq: 10 };
const newest = { streamSeq: 10, subject: "audit.identity.0", msgId: "org/10" };
const same = { subject: newest.subject, msgId: newest.msgId };

describe("a durable", () => {
  it.each([
    ["is at its former position", stream, consumer, newest, same, null],
    ["lags far behind its stream", stream, { ...consumer, deliveredSeq: 2 }, null, null, null],
    ["has seen a message that has expired since", stream, consumer, { ...newest, streamSeq: 3 }, null, null],
    ["is new on an empty stream", { created, lastSeq: 0 }, { ...consumer, deliveredSeq: 0 }, null, null, null],
    ["is ahead of a restored stream", { created, lastSeq: 7 }, consumer, null, null, /ahead/],
    ["has seen what the stream lost", { created, lastSeq: 9 }, { ...consumer, deliveredSeq: 9 }, newest, null, /lost/],
    ["sees another message at its position", stream, consumer, newest, { ...same, msgId: "org/77" }, /another message/],
    ["is older than its stream", { created: "2026-01-03T00:00:00Z", lastSeq: 10 }, consumer, null, null, /re-created/],
  ])("%s", (_name, s, c, seen, stored, expected) => {
    const reason = resetReason(s, c, seen, stored);
    if (expected === null) expect(reason).toBeNull();
    else expect(reason).toMatch(expected);
  });
});
