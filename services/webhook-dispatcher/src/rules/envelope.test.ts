import { describe, expect, it } from "@jest/globals";
import { dataOf, deliveryId, envelopeBody, isObjectText, maxDataBytes, occurredAt } from "./envelope.ts";

const id = (end: string) => `018f6f1e-0000-7000-8000-${end.padStart(12, "0")}`;
const now = new Date("2026-01-31T12:00:00Z");
const daysAgo = (days: number) => new Date(now.getTime() - days * 86_400_000);

describe("the body of a delivery", () => {
  it("has the data as it was posted, and gives it back so", () => {
    const dataJson = '{"b":1.0,"a":9007199254740993,"b":{}}';
    const body = envelopeBody({ id: id("1"), type: "device.online", timestamp: now, orgId: id("2"), dataJson });
    expect(body).toBe(
      `{"id":"${id("1")}","type":"device.online","timestamp":"2026-01-31T12:00:00.000Z","orgId":"${id("2")}","data":${dataJson}}`,
    );
    expect([dataOf(body), dataOf("{}")]).toEqual([dataJson, "{}"]);
  });

  const ofBytes = (bytes: number) => JSON.stringify({ a: "x".repeat(bytes - 8) });
  it.each<[string, string, boolean]>([
    ["an object of 65,536 bytes", ofBytes(maxDataBytes), true],
    ["an object of 65,537 bytes", ofBytes(maxDataBytes + 1), false],
    ["an array", "[]", false],
    ["null", "null", false],
    ["no JSON", "{", false],
  ])("has as data %s: %p", (_, json, expected) => {
    expect(isObjectText(json)).toBe(expected);
  });
});

describe("a delivery's id", () => {
  // Stored deliveries are found by it: it stays in every version. Computed by another implementation of RFC 9562.
  it.each([
    [id("1"), "2c3d5d65-e556-59f3-8b33-a3216621b1b3"],
    [id("c"), "2c5606da-f988-58cd-add9-3912958355a4"],
  ])("is the UUID of version 5, for webhook %s", (webhookId, expected) => {
    expect(deliveryId(webhookId, id("2"), id("3"))).toBe(expected);
  });
});

describe("the time of an event", () => {
  it.each<[string, Date, number, Date]>([
    ["its own", daysAgo(3), 30, daysAgo(3)],
    ["now, where it is to come", daysAgo(-1), 30, now],
    ["a week ago, where it is older", daysAgo(8), 30, daysAgo(7)],
    ["the oldest kept day, where that is later", daysAgo(5), 2, daysAgo(2)],
  ])("is %s", (_, claimed, retentionDays, expected) => {
    expect(occurredAt(claimed, now, retentionDays)).toEqual(expected);
  });
});
