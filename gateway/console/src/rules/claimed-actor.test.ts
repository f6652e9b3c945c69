import { expect, it } from "@jest/globals";
import { claimedActorIn } from "./claimed-actor.ts";

it.each<[string, Record<string, unknown>, string | null]>([
  ["a name and an id", { claimedActor: { id: "u-1", name: "Ada" } }, "Ada, u-1 (claimed by the actor, not verified)"],
  ["nobody", {}, null],
  ["null", { claimedActor: null }, null],
  ["a text", { claimedActor: "Ada" }, null],
  ["numbers", { claimedActor: { id: 7 } }, null],
])("the claimed actor of details with %s", (_what, details, text) => {
  expect(claimedActorIn(details)).toBe(text);
});
