import { describe, expect, it } from "@jest/globals";
import { replayedId, replayWanted } from "./replay.ts";

const now = new Date("2026-01-31T12:00:00Z");
const at = (hours: number) => new Date(now.getTime() + hours * 3_600_000);
const wanted = { since: at(-2), until: null, status: "", events: [] };

describe("a replay", () => {
  it("selects the failed deliveries until now, by default", () => {
    expect(replayWanted(wanted, now)).toEqual({ since: at(-2), until: now, status: "failed", events: [] });
  });

  it("finds none of its own deliveries, and none from before 1970", () => {
    const selected = replayWanted({ ...wanted, since: new Date(-1), until: at(1), status: "all" }, now);
    expect(selected).toEqual({ since: new Date(0), until: now, status: "all", events: [] });
  });

  it("names each event type once", () => {
    const events = ["device.online", "device.offline", "device.online"];
    expect(replayWanted({ ...wanted, events }, now).events).toEqual(["device.online", "device.offline"]);
  });

  const types = (count: number) => Array.from({ length: count }, (_, n) => `custom.type_${n}`);
  it.each([
    ["deliveryStatus", { ...wanted, status: "pending" }],
    ["since", { ...wanted, since: null }],
    ["since", { ...wanted, since: now }],
    ["since", { ...wanted, since: at(-1), until: at(-1) }],
    ["events", { ...wanted, events: types(101) }],
  ])("is refused with its field %s, case %#", (field, input) => {
    const errors = { [field]: expect.anything() };
    expect(() => replayWanted(input, now)).toThrow(
      expect.objectContaining({
        code: "validation_failed",
        facts: { details: { formErrors: [], fieldErrors: errors } },
      }),
    );
  });

  it("is refused for a type that does not exist, by its name", () => {
    expect(() => replayWanted({ ...wanted, events: ["device.online", "device.gone"] }, now)).toThrow(
      expect.objectContaining({ code: "unknown_event_type", facts: { types: ["device.gone"] } }),
    );
  });

  it("is refused for any number of types that do not exist, by the first 20 names", () => {
    const events = Array.from({ length: 25 }, (_, n) => `gone.type_${n}`);
    expect(() => replayWanted({ ...wanted, events }, now)).toThrow(
      expect.objectContaining({ code: "unknown_event_type", facts: { types: events.slice(0, 20) } }),
    );
  });

  it("gives an event one id, in the form of a UUID of version 5", () => {
    const [replay, event] = ["11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"];
    expect(replayedId(replay, event)).toBe("093c7791-42df-5986-8eb8-7afc4e1dfa50");
  });
});
