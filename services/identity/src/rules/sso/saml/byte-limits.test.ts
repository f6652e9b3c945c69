import { describe, expect, it } from "@jest/globals";
import { byteError } from "./byte-limits.ts";

const limits = { bytes: 100, elements: 4, depth: 3, attributes: 2, attributesInAll: 3 };
const error = (text: string) => byteError(Buffer.from(text), limits);

describe("a document within its limits", () => {
  it.each([
    "<a/>",
    '<?xml version="1.0" encoding="UTF-8"?><a/>',
    "<a><b><c></c></b></a>",
    "<a><b><c/></b><d/></a>",
    '<a x="1" y="2"><b x=">"/></a>',
    `<a x='>"=' y="'>="/>`,
    `<a>${"x".repeat(93)}</a>`,
  ])("is %s", (text) => {
    expect(error(text)).toBeNull();
  });
});

describe("a document beyond them", () => {
  it.each([
    [`<a>${"x".repeat(94)}</a>`, "101 bytes, at most 100 are accepted"],
    ["<a><b><c><d/></c></b></a>", "deeper than 3 elements"],
    ["<a><b/><c/><d/><e/></a>", "more than 4 elements"],
    ['<a x="1" y="2" z="3"/>', "more than 2 attributes on one element"],
    ['<a x="1" y="2"><b x="1" y="2"/></a>', "more than 3 attributes"],
    ["<!DOCTYPE a><a/>", "declarations, comments and CDATA sections are refused"],
    ["<a><?x?></a>", "processing instructions are refused"],
    ["\ufeff<a/>", "does not begin with an element"],
    ['<a x="1', "malformed"],
    ['<a x="<"/>', "malformed"],
  ])("is %s", (text, expected) => {
    expect(error(text)).toBe(expected);
  });
});
