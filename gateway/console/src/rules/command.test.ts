import { describe, expect, it } from "@jest/globals";
import { afterNoun, commandIn, marked } from "./command.ts";

const verbs = ["Disable", "Enable", "Approve", "Approve and replace", "Hold updates"];

describe("a command that was typed", () => {
  it.each([
    ["disable ada", { verbs: ["Disable"], rest: "ada" }],
    ["Disa Ada Lovelace", { verbs: ["Disable"], rest: "Ada Lovelace" }],
    ["hold updates web-01", { verbs: ["Hold updates"], rest: "web-01" }],
    ["approve and replace web", { verbs: ["Approve and replace"], rest: "web" }],
    ["approve", { verbs: ["Approve"], rest: "" }],
    ["app web", { verbs: ["Approve", "Approve and replace"], rest: "web" }],
    ["osa-pos", null],
    ["en", null],
    ["", null],
  ])("%j is %j", (text, command) => {
    expect(commandIn(text, verbs)).toEqual(command);
  });
});

it.each([
  ["key prod", "key", "prod"],
  ["Keys", "key", ""],
  ["keyboard", "key", null],
  ["enrollment key Oslo", "enrollment key", "Oslo"],
])("among %j the noun %s leaves %j", (words, noun, rest) => {
  expect(afterNoun(words, noun)).toBe(rest);
});

it.each([
  ["osa-pos-017", "OSA", ["", "osa", "-pos-017"]],
  ["Berlin", "osa", ["Berlin", "", ""]],
  ["Berlin", "", ["Berlin", "", ""]],
])("in %s the text %s is marked", (text, search, parts) => {
  expect(marked(text, search)).toEqual(parts);
});
