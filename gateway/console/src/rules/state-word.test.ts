import { expect, it } from "@jest/globals";
import { stateWord } from "./state-word.ts";

it("says what a device that is quarantined waits for, and every other state by its name", () => {
  expect(["quarantined", "offline"].map(stateWord)).toEqual(["to approve", "offline"]);
});

it("calls a receiver that answers with errors the same as one that does not answer", () => {
  expect(stateWord("unreachable")).toBe("failing");
});
