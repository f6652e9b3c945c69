import type { IncomingMessage } from "node:http";
import { PassThrough } from "node:stream";
import { gzipSync } from "node:zlib";
import { beforeEach, describe, expect, it } from "@jest/globals";
import { until } from "@muster/testing";
import { type Bodies, type BodiesOptions, createBodies } from "./bodies.ts";

let nowMs = 0;
beforeEach(() => {
  nowMs = 0;
});
const bodiesOf = (options: Partial<BodiesOptions> = {}): Bodies =>
  createBodies({
    max: 8,
    bytesMax: 1_000,
    ownerPercent: 50,
    graceMs: 60_000,
    minBytesPerSecond: 100,
    now: () => nowMs,
    ...options,
  });

/** A body in flight: its result, and the connection it arrives on. */
function receiving(bodies: Bodies, owner: string, limitBytes = 500) {
  const wire = new PassThrough();
  const body = { wire, outcome: "in flight" };
  bodies.receive(wire as unknown as IncomingMessage, owner, limitBytes).then(
    (bytes) => {
      body.outcome = bytes.toString();
    },
    (error: { code: string }) => {
      body.outcome = error.code;
    },
  );
  return body;
}
const settled = (...list: { outcome: string }[]) =>
  until("the bodies to be settled", () => list.every(({ outcome }) => outcome !== "in flight"));

describe("a body", () => {
  it("is received whole", async () => {
    const body = receiving(bodiesOf(), "a");
    body.wire.write("one ");
    body.wire.end("two");
    await settled(body);
    expect(body.outcome).toBe("one two");
  });

  it("beyond its limit is read to its end, discarded and refused", async () => {
    const bodies = bodiesOf();
    const body = receiving(bodies, "a", 10);
    body.wire.end("x".repeat(5_000));
    await settled(body);
    expect([body.outcome, bodies.size]).toEqual(["payload_too_large", 0]);
  });

  it("is dropped when its client disconnects", async () => {
    const bodies = bodiesOf();
    const body = receiving(bodies, "a");
    body.wire.destroy();
    await settled(body);
    expect([body.outcome, bodies.size]).toEqual(["bad_request", 0]);
  });

  it("below the minimum rate is aborted, one at the minimum rate is not", async () => {
    const bodies = bodiesOf({ graceMs: 1_000, bytesMax: 100_000 });
    const slow = receiving(bodies, "a");
    const steady = receiving(bodies, "a");
    slow.wire.write("x");
    steady.wire.write("x".repeat(400));
    await until("the bytes to be read", () => steady.wire.readableLength === 0);
    nowMs = 4_900;
    await settled(slow);
    expect([slow.outcome, steady.outcome]).toEqual(["request_timeout", "in flight"]);
    nowMs = 5_100;
    await settled(steady);
    expect(steady.outcome).toBe("request_timeout");
  });
});

describe("a gzip body", () => {
  const zeros = (bytes: number) => gzipSync(Buffer.alloc(bytes));
  const inflated = (bodies: Bodies, sent: Buffer, limitBytes: number) =>
    bodies.inflate(sent, "a", limitBytes).then(
      (bytes) => bytes.length,
      (error: { code: string }) => error.code,
    );

  it("is inflated whole", async () => {
    const bodies = bodiesOf({ bytesMax: 1_000_000 });
    expect((await bodies.inflate(gzipSync("one two"), "a", 100)).toString()).toBe("one two");
    expect([await inflated(bodies, zeros(300_000), 300_000), bodies.size]).toEqual([300_000, 0]);
  });

  it("beyond its limit is stopped while it is inflated", async () => {
    const bodies = bodiesOf({ bytesMax: 1_000_000 });
    expect([await inflated(bodies, zeros(10_000_000), 100_000), bodies.size]).toEqual(["payload_too_large", 0]);
  });

  it("is refused when it is not valid gzip", async () => {
    const bodies = bodiesOf();
    expect(await inflated(bodies, Buffer.from("plain"), 100)).toBe("bad_request");
    expect(await inflated(bodies, gzipSync("cut off in the middle").subarray(0, 20), 100)).toBe("bad_request");
    expect(bodies.size).toBe(0);
  });

  it("counts towards the bytes in memory: many small ones that inflate to large ones are refused immediately, and the next is accepted", async () => {
    const bodies = bodiesOf({ max: 100, bytesMax: 1_000_000, ownerPercent: 100 });
    const sent = zeros(300_000);
    const outcomes = await Promise.all(Array.from({ length: 10 }, () => inflated(bodies, sent, 300_000)));
    expect(outcomes).toContain("overloaded");
    expect(outcomes.filter((outcome) => outcome !== "overloaded" && outcome !== 300_000)).toEqual([]);
    expect(await inflated(bodies, sent, 300_000)).toBe(300_000);
  });
});

describe("too many bodies", () => {
  it("from one owner abort that owner's slowest body, and no other owner's", async () => {
    const bodies = bodiesOf();
    const other = receiving(bodies, "b");
    const own = Array.from({ length: 4 }, () => receiving(bodies, "a"));
    for (const [i, { wire }] of own.entries()) wire.write("x".repeat(i === 2 ? 1 : 50));
    await until("the bytes to be read", () => own.every(({ wire }) => wire.readableLength === 0));
    nowMs = 2_000;
    receiving(bodies, "a");
    await settled(own[2] as { outcome: string });
    expect(own.map(({ outcome }) => outcome)).toEqual(["in flight", "in flight", "request_timeout", "in flight"]);
    expect([other.outcome, bodies.size]).toEqual(["in flight", 5]);
  });

  it("from many owners abort the slowest of all, so that a new one is never refused", async () => {
    const bodies = bodiesOf();
    const many = Array.from({ length: 8 }, (_, i) => receiving(bodies, `owner ${i}`));
    const fresh = receiving(bodies, "new");
    fresh.wire.end("here");
    await settled(fresh, many[0] as { outcome: string });
    expect([fresh.outcome, many[0]?.outcome, bodies.size]).toEqual(["here", "request_timeout", 7]);
  });

  it("from owners that keep all bytes they may, leave bytes to another owner", async () => {
    const bodies = bodiesOf({ ownerPercent: 25, bytesMax: 1_000 });
    const many = Array.from({ length: 4 }, (_, i) => receiving(bodies, `owner ${i}`));
    for (const { wire } of many) wire.write("x".repeat(240));
    await until("the bytes to be read", () => many.every(({ wire }) => wire.readableLength === 0));
    const other = receiving(bodies, "other");
    other.wire.end("y".repeat(100));
    await settled(other);
    expect(other.outcome).toHaveLength(100);
    expect(many.map(({ outcome }) => outcome)).toEqual(["in flight", ...Array(3).fill("overloaded")]);
  });

  it("by their bytes are refused as overload when they would grow, and completed ones free their bytes", async () => {
    const bodies = bodiesOf();
    const first = receiving(bodies, "a");
    const second = receiving(bodies, "a");
    first.wire.write("x".repeat(400));
    await until("the bytes to be read", () => first.wire.readableLength === 0);
    second.wire.write("x".repeat(101));
    await settled(second);
    expect([first.outcome, second.outcome]).toEqual(["in flight", "overloaded"]);
    first.wire.end();
    await settled(first);
    const third = receiving(bodies, "a");
    third.wire.end("x".repeat(450));
    await settled(third);
    expect(third.outcome).toHaveLength(450);
  });
});
