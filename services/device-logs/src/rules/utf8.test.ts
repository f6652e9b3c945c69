import { describe, expect, it } from "@jest/globals";
import { mendedText, mendUtf8, utf8Text } from "./utf8.ts";

const latin1 = (text: string) => Buffer.from(text, "latin1");

describe("invalid UTF-8", () => {
  it.each([
    ["plain", 0, "plain"],
    ["\xc3\xa4\xf0\x9f\x98\x80", 0, "ä😀"],
    ["\xef\xbf\xbd", 0, "\ufffd"],
    ["caf\xe9", 1, "caf\ufffd"],
    ["\xef\xbf\xbd\xe9", 1, "\ufffd\ufffd"],
    ["\xc3(", 1, "\ufffd("],
    ["\xff\xfea", 2, "\ufffd\ufffda"],
    // The first and the last character of each length, after a byte that is none.
    ["\xe9\x7f\xc2\x80\xdf\xbf", 1, "\ufffd\u007f\u0080\u07ff"],
    ["\xe9\xe0\xa0\x80\xef\xbf\xbf", 1, "\ufffd\u0800\uffff"],
    ["\xe9\xf0\x90\x80\x80\xf4\x8f\xbf\xbf", 1, "\ufffd\u{10000}\u{10ffff}"],
  ])("in %p is %d times replaced by U+FFFD", (text, replaced, expected) => {
    expect(utf8Text(latin1(text))).toEqual({ text: expected, replaced });
    const bytes = latin1(text);
    expect(mendUtf8(bytes)).toBe(replaced);
    expect([bytes.length, mendedText(bytes.toString())]).toEqual([text.length, expected]);
  });

  it.each(["\xed\xa0\x80", "\xc0\x80", "\xf5\x80\x80\x80", "\xf0\x9f\x98"])("in %p is valid afterwards", (text) => {
    const bytes = latin1(`a${text}b`);
    expect(mendUtf8(bytes)).toBeGreaterThan(0);
    expect(bytes.toString("latin1")).toMatch(/^a.*b$/s);
    expect(mendUtf8(bytes)).toBe(0);
  });
});
