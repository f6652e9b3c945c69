import { describe, expect, it } from "@jest/globals";
import { parseExceptions } from "./exceptions.ts";
import { shownUrl, validateUrl } from "./validate-url.ts";

describe("exceptions for tests", () => {
  const exceptions = parseExceptions("hooks.example.test:8443=127.0.0.1, http://bench.example.test:8080=::1", "test");
  const pinnedOf = (url: string) => {
    try {
      return validateUrl(url, exceptions).pinned;
    } catch (error) {
      return (error as { reason?: string }).reason;
    }
  };

  it.each([
    ["https://hooks.example.test:8443/a?b=1", "127.0.0.1"],
    ["https://HOOKS.example.test.:8443/", "127.0.0.1"],
    ["http://bench.example.test:8080/", "::1"],
    ["http://hooks.example.test:8443/", "not_https"],
    ["https://hooks.example.test:8444/", null],
    ["https://x.hooks.example.test:8443/", null],
    ["https://127.0.0.1:8443/", "address_not_public"],
    ["https://bench.example.test:8080/", null],
  ])("%s is pinned to %s", (url, expected) => {
    expect(pinnedOf(url)).toBe(expected);
  });

  it("are refused in production, and when they are not understood", () => {
    expect(() => parseExceptions("a.test:1=127.0.0.1", "production")).toThrow("not with NODE_ENV=production");
    expect(parseExceptions("", "production").size).toBe(0);
    for (const text of [
      "a.test=127.0.0.1",
      "a.test:1",
      "*:1=127.0.0.1",
      "a.test:99999=127.0.0.1",
      "a.test:1=999.1.1.1",
    ]) {
      expect(() => parseExceptions(text, "test")).toThrow("EGRESS_TEST_EXCEPTIONS");
    }
  });
});

describe("a URL as people see it", () => {
  it.each([
    ["https://user:secret@example.com/hook", "https://example.com/hook"],
    ["https://example.com/hook?room=ops&token=abc#x", "https://example.com/hook?room=ops"],
    ["https://example.com/?sig=a&sv=b&se=c&sp=d&sr=e&team=7", "https://example.com/?team=7"],
    ["https://example.com/?X-Amz-Signature=1&X-Amz-Date=2&id=5", "https://example.com/?id=5"],
    ["https://example.com/?v=AbCdEf0123456789AbCdEf01", "https://example.com/"],
  ])("%s is shown as %s", (stored, shown) => {
    expect(shownUrl(stored)).toBe(shown);
  });
});
