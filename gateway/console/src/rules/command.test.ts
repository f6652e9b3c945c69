import { describe, expect, it } from "@jest/globals";
import { commandIn, marked } from "./command.ts";

const verbs = ["Disable", "Enable", "Approve", "Approve and replace", "Hold updates"];

describe("a command that was typed", () => {
  it.each([
    ["disable ada", { verb: "Disable", rest: "ada" }],
    ["Disa Ada Lovelace", { verb: "Disable", rest: "Ada Lovelace" }],
    ["hold updates web-01", { verb: "Hold updates", rest: "web-01" }],
    ["approve and replace web", { verb: "Approve and replace", rest: "web" }],
    ["approve", { verb: "Approve", rest: "" }],
    ["osa-pos", null],
    ["en", null],
    ["", null],
  ])("%j is %j", (text, command) => {
    expect(commandIn(text, verbs)).toEqual(command);
  });
});

it.each([
  ["osa-pos-017", "OSA", ["", "osa", "-pos-017"]],
  ["Berlin", "osa", ["Berlin", "", ""]],
  ["Berlin", "", ["Berlin", "", ""]],
])("in %s the text %s is marked", (text, search, parts) => {
  expect(marked(text, search)).toEqual(parts);
});
