import { describe, expect, it } from "@jest/globals";
import { readOrder } from "./durables.ts";

const order = { action: "create", filterSubject: "tenancy.>", maxAckPending: 100, from: null };
const bytes = (value: unknown) => new TextEncoder().encode(typeof value === "string" ? value : JSON.stringify(value));

describe("an order for a durable", () => {
  it.each([
    ["from the beginning", order],
    ["from a time", { ...order, action: "replace", from: "2026-01-01T00:00:00.000Z" }],
  ])("is read: %s", (_, value) => {
    expect(readOrder(bytes(value))).toEqual(value);
  });

  it("carries nothing else into the durable's configuration", () => {
    expect(readOrder(bytes({ ...order, deliver_subject: "agent.epoch", durable_name: "other" }))).toEqual(order);
  });

  it.each([
    ["no JSON", "{"],
    ["no object", "1"],
    ["nothing", "null"],
    ["another action", { ...order, action: "delete" }],
    ["no filter", { ...order, filterSubject: undefined }],
    ["a filter with spaces", { ...order, filterSubject: "tenancy. >" }],
    ["nothing pending", { ...order, maxAckPending: 0 }],
    ["too much pending", { ...order, maxAckPending: 1e9 }],
    ["no time", { ...order, from: "yesterday" }],
    ["no from", { ...order, from: undefined }],
  ])("is refused: %s", (_, value) => {
    expect(readOrder(bytes(value))).toBeNull();
  });
});
