import { describe, expect, it } from "@jest/globals";
import { callerOf, type Poster, posterOf, posterOfMessage, sourceOf } from "./poster.ts";

describe("the poster of an event", () => {
  it.each([
    ["system", "agent-release", "platform", "platform", null],
    ["user", "u1", "user:u1", "api", { type: "user", id: "u1" }],
    ["api_key", "k1", "api_key:k1", "api", { type: "api_key", id: "k1" }],
  ] as const)("%s %s is stored as %s and shown as %s", (type, id, poster, source, caller) => {
    expect(posterOf({ type, id })).toBe(poster);
    expect([sourceOf(poster), callerOf(poster)]).toEqual([source, caller]);
  });

  it.each<[string, string, Poster]>([
    ["identity", "", "platform"],
    // NATS lets it publish under its own name alone: it speaks for itself, whatever it writes.
    ["identity", "user:u1", "platform"],
    ["webhook-dispatcher", "platform", "platform"],
    ["webhook-dispatcher", "api_key:k1", "api_key:k1"],
    ["webhook-dispatcher", "", null],
    ["webhook-dispatcher", "system:x", null],
  ])("is read from a message of %s naming %j as %j", (emitter, postedBy, poster) => {
    expect(posterOfMessage(emitter, postedBy)).toBe(poster);
  });

  it("is neither the platform nor a caller when an earlier version stored the event", () => {
    expect([sourceOf(null), callerOf(null)]).toEqual([null, null]);
  });
});
