import { describe, expect, it } from "@jest/globals";
import { createReadBack } from "./read-back.ts";
import type { StreamPosition } from "./relay-store.ts";

const at = (seq: number, created = "c1", msgId = `m${seq}`): StreamPosition => ({
  stream: "AUDIT",
  created,
  seq,
  msgId,
});

function stream(messages: Record<number, string>, created = "c1") {
  const lookups: number[] = [];
  return {
    lookups,
    lookup: async (_: string, seq: number) => {
      lookups.push(seq);
      return { created, msgId: messages[seq] ?? null };
    },
  };
}

describe("read-back", () => {
  it("checks the newest promise only, and finds nothing when it is kept", async () => {
    const { lookup, lookups } = stream({ 1: "m1", 2: "m2" });
    const readBack = createReadBack(lookup);
    readBack.note(at(1));
    readBack.note(at(2));
    readBack.pin();
    expect(await readBack.broken()).toEqual([]);
    expect(lookups).toEqual([2]);
    expect(readBack.isDue).toBe(false);
  });

  it.each([
    ["is missing", stream({})],
    ["is another message", stream({ 2: "other" })],
    ["is in a re-created stream", stream({ 2: "m2" }, "c2")],
  ])("finds the promise broken when it %s, until the stream is forgotten", async (_, { lookup }) => {
    const readBack = createReadBack(lookup);
    readBack.note(at(2));
    readBack.pin();
    expect(await readBack.broken()).toEqual([at(2)]);
    expect(await readBack.broken()).toEqual([at(2)]);
    readBack.forget("AUDIT");
    expect(await readBack.broken()).toEqual([]);
  });

  it("still checks the promise of before a loss when newer ones were made after it", async () => {
    const readBack = createReadBack(stream({ 9: "other", 11: "m11" }).lookup);
    readBack.note(at(9));
    readBack.pin();
    readBack.note(at(11));
    expect(await readBack.broken()).toEqual([at(9)]);
  });

  it.each([
    ["a position that was already promised", at(5, "c1", "again")],
    ["another creation of the stream", at(50, "c2")],
  ])("doubts by itself when a new promise is for %s", async (_, next) => {
    const readBack = createReadBack(stream({ [next.seq]: next.msgId }, next.created).lookup);
    readBack.note(at(8));
    readBack.note(next);
    expect(await readBack.broken()).toEqual([at(8)]);
  });

  it("keeps what is due while the stream cannot be queried", async () => {
    const readBack = createReadBack(() => Promise.reject(new Error("away")));
    readBack.load([at(1)]);
    await expect(readBack.broken()).rejects.toThrow("away");
    expect(readBack.isDue).toBe(true);
  });
});
