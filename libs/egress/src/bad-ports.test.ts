import { createRequire } from "node:module";
import { describe, expect, it } from "@jest/globals";
import { isBadPort } from "./bad-ports.ts";
import { validateUrl } from "./validate-url.ts";

// The same list as undici's fetch keeps it: an update that adds a port fails here.
const { badPorts } = createRequire(import.meta.url)("undici/lib/web/fetch/constants.js") as { badPorts: string[] };

const reasonOf = (url: string): string | null => {
  try {
    validateUrl(url);
    return null;
  } catch (error) {
    return (error as { reason: string }).reason;
  }
};

describe("a port that no web server has", () => {
  it("is one of the list that browsers refuse, and no other", () => {
    const refused = Array.from({ length: 65_536 }, (_, port) => port).filter(isBadPort);
    expect(refused).toEqual([0, ...badPorts.map(Number)]);
  });

  it("is refused in the URL of a name and of an address, however it is written", () => {
    for (const port of [0, ...badPorts, "0025", "022"]) {
      for (const host of ["example.com", "8.8.8.8", "[2606:4700::1111]"]) {
        expect([port, reasonOf(`https://${host}:${port}/`)]).toEqual([port, "port_not_allowed"]);
      }
    }
  });

  it.each(["", ":443", ":80", ":8443", ":3000", ":65535"])("leaves https://example.com%s allowed", (port) => {
    expect(reasonOf(`https://example.com${port}/`)).toBe(null);
  });

  it("hides no graver reason", () => {
    expect(reasonOf("https://127.0.0.1:25/")).toBe("address_not_public");
    expect(reasonOf("https://localhost:25/")).toBe("hostname_not_allowed");
    expect(reasonOf("http://example.com:25/")).toBe("not_https");
  });
});
