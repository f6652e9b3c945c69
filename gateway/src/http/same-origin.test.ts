import { describe, expect, it } from "@jest/globals";
import { isSameOrigin } from "./same-origin.ts";

describe("a request of this origin's own pages", () => {
  it.each<[string, string | null, string | null, string, boolean]>([
    ["is known by Sec-Fetch-Site", "same-origin", null, "muster.example", true],
    ["is not another site's", "cross-site", null, "muster.example", false],
    ["is not a sibling domain's", "same-site", "https://muster.example", "muster.example", false],
    ["is not an address that was typed", "none", null, "muster.example", false],
    ["is known by its Origin where no Sec-Fetch-Site is sent", null, "http://10.0.0.5:3000", "10.0.0.5:3000", true],
    ["may leave out the port of its scheme", null, "https://muster.example", "muster.example:443", true],
    ["may write the host in capitals", null, "https://muster.example", "Muster.Example", true],
    ["is not one of another port", null, "http://10.0.0.5:3001", "10.0.0.5:3000", false],
    ["is not one without an origin", null, "null", "10.0.0.5:3000", false],
    ["is not a program's", null, null, "10.0.0.5:3000", false],
  ])("%s", (_case, fetchSite, origin, host, own) => {
    expect(isSameOrigin({ fetchSite, origin, host })).toBe(own);
  });
});
