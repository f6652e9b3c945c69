import { describe, expect, it } from "@jest/globals";
import { curlOf } from "./curl.ts";
import { parseSearch, stringifySearch } from "./search-params.ts";

describe("filters in the address", () => {
  it.each([
    [{ status: "offline", search: "web 1" }, "?search=web+1&status=offline"],
    [{ status: "", orgId: undefined }, ""],
    [{ search: "a&b=c#d%" }, "?search=a%26b%3Dc%23d%25"],
    [{ q: "1e5" }, "?q=1e5"],
  ])("%j are written as %s, and read back as they were", (search, text) => {
    expect(stringifySearch(search)).toBe(text);
    const kept = Object.fromEntries(Object.entries(search).filter(([, value]) => value));
    expect(parseSearch(text)).toEqual(kept);
  });
});

it("a page's curl quotes what would end its shell word", () => {
  expect(curlOf("https://m.example", "/api/v1/devices", { search: "o'neil", status: undefined })).toBe(
    `curl -s -H "X-API-Key: $MUSTER_API_KEY" 'https://m.example/api/v1/devices?search=o%27neil'`,
  );
});
