import { describe, expect, it } from "@jest/globals";
import { manifestHead, urlsOf } from "./manifest-head.ts";

const line = JSON.stringify({ component: "agent", version: "2.5.0", artifacts: [{ name: "a" }, { name: "b" }, null] });

describe("the head of a manifest", () => {
  it.each([
    [line, { component: "agent", version: "2.5.0", names: ["a", "b"] }],
    [`${line}\n\n— releases.example.com kX==\n`, { component: "agent", version: "2.5.0", names: ["a", "b"] }],
    ["", null],
    ["null", null],
    ["[]", null],
    ["no manifest", null],
    [JSON.stringify({ component: "agent", version: 2, artifacts: [] }), null],
  ])("is read from the first line of %j", (text, head) => {
    expect(manifestHead(text)).toEqual(head);
  });
});

it("gives a file its own address, and the others theirs in the folder", () => {
  const own = (name: string) => (name === "b" ? " https://cdn.example.com/b " : "");
  expect(urlsOf(["a", "b"], "https://releases.example.com/2.5.0", own)).toEqual({
    a: "https://releases.example.com/2.5.0/a",
    b: "https://cdn.example.com/b",
  });
});
