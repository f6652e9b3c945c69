import { describe, expect, it } from "@jest/globals";
import { redirectPath } from "./redirect-path.ts";

describe("the page after a sign-in", () => {
  it.each([
    ["/", "/"],
    ["/devices", "/devices"],
    ["/devices?status=offline&q=a%20b", "/devices?status=offline&q=a%20b"],
    ["/a/b/c", "/a/b/c"],
    ["/a%2Fb", "/a%2Fb"],
    ["/a?next=%2F%2Fevil.test", "/a?next=%2F%2Fevil.test"],
    ["/é", "/%C3%A9"],
    ["/a/../b", "/b"],
    ["/%2e%2e/a", "/a"],
    ["/devices/%5cname", "/devices/%5cname"],
    ["/?q=https:evil.test", "/?q=https:evil.test"],
    ["/@evil.test", "/@evil.test"],
    ["/:80", "/:80"],
    [`/${"a".repeat(499)}`, `/${"a".repeat(499)}`],
  ])("keeps %s", (wanted, path) => {
    expect(redirectPath(wanted)).toBe(path);
  });

  it.each([
    "",
    "devices",
    "//evil.test",
    "///evil.test",
    "/\\evil.test",
    "\\/evil.test",
    "/%2fevil.test",
    "/%2Fevil.test",
    "/%5cevil.test",
    "/%5Cevil.test",
    "/./%2fevil.test",
    "/%2e/%2Fevil.test",
    "/a/../%2fevil.test",
    "/a/%2e%2e/%5cevil.test",
    "/../%5Cevil.test",
    "/%2f%2fevil.test",
    "http://evil.test",
    "https:evil.test",
    "HTTPS://evil.test",
    "https:/evil.test",
    "ftp://evil.test",
    "javascript:alert(1)",
    "JavaScript:alert(1)",
    "vbscript:a",
    "blob:https://evil.test/a",
    "evil.test",
    "user@evil.test",
    ":80",
    "/a//b",
    "/\t/evil.test",
    "/\n/evil.test",
    " /a",
    "/a b",
    "/a\\b",
    "/\u000b/evil.test",
    "/\r/evil.test",
    "/a\r\nSet-Cookie: a=b",
    "\u00a0/a",
    "\ufeff/a",
    "/a\u0000",
    "/a#ssoCode=planted",
    "#a",
    "?a",
    "/..//evil.test",
    "/.//evil.test",
    "/a?b=//evil.test",
    `/${"a".repeat(500)}`,
    `/${"é".repeat(200)}`,
    "@evil.test",
    "/\u007fa",
    "data:text/html,a",
  ])("is / instead of %j", (wanted) => {
    expect(redirectPath(wanted)).toBe("/");
  });

  const decoded = (path: string, times: number): string => {
    let text = path;
    for (let n = 0; n < times; n++) {
      text = text.replaceAll(/%([0-7][\da-f])/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
    }
    return text;
  };
  const encoded = (text: string, times: number): string =>
    times === 0
      ? text
      : encoded(
          text.replaceAll(/[^\w.]/g, (each) => `%${each.charCodeAt(0).toString(16).padStart(2, "0")}`),
          times - 1,
        );
  const characters = ["\t", "\n", "\r", "\0", "\v", "\u001f", "\u007f", " ", "\\", "/"];

  it("has neither another host nor a control character, however often a client decodes it", () => {
    const wrong: string[] = [];
    for (const first of characters) {
      for (const second of ["", ...characters]) {
        for (const times of [1, 2, 3]) {
          const hidden = encoded(`${first}${second}`, times);
          for (const wanted of [
            `/${hidden}/evil.test`,
            `/${hidden}evil.test`,
            `/a/..${hidden}/evil.test`,
            `/a?b=${hidden}c`,
          ]) {
            const path = redirectPath(wanted);
            for (const again of [0, 1, 2, 3]) {
              const read = decoded(path, again);
              const host = URL.canParse(read, "https://app.test") ? new URL(read, "https://app.test").host : "none";
              // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
              if (host !== "app.test" || /[\0-\u001f\u007f]/.test(read)) wrong.push(`${wanted} -> ${path}`);
            }
          }
        }
      }
    }
    expect([...new Set(wrong)]).toEqual([]);
  });

  it.each(["/%09/evil.test", "/%0a%2fevil.test", "/a%00", "/%2509/evil.test", "/a?b=%0d%0aSet-Cookie:a", "/%7f/a"])(
    "is / instead of %s, which a second decoding turns into more",
    (wanted) => {
      expect(redirectPath(wanted)).toBe("/");
    },
  );
});
