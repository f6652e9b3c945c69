import { describe, expect, it } from "@jest/globals";
import { createCors } from "./cors.ts";

const own = "https://app.example.com";
const cors = createCors([own]);

/** Header lines as an object; null without any. */
function headers(lines: readonly string[] | null): Record<string, string> | null {
  if (lines === null) return null;
  return Object.fromEntries(lines.flatMap((name, at) => (at % 2 === 0 ? [[name, String(lines[at + 1])]] : [])));
}

describe("the answer to a preflight", () => {
  it("names methods and headers to a configured origin", () => {
    expect(headers(cors.forPreflight(own, "GET, POST"))).toEqual({
      Allow: "GET, POST",
      "Access-Control-Allow-Origin": own,
      Vary: "Origin",
      "Access-Control-Allow-Methods": "GET, POST",
      "Access-Control-Allow-Headers": "Authorization, Content-Type, X-API-Key, X-Request-Id, Idempotency-Key",
      "Access-Control-Max-Age": "600",
    });
  });

  it.each([null, "https://app.example.com.evil.example", "http://app.example.com"])(
    "permits nothing to %p",
    (origin) => {
      expect(headers(cors.forPreflight(origin, "GET"))).toEqual({ Allow: "GET", Vary: "Origin" });
      expect(headers(createCors([]).forPreflight(origin, "GET"))).toEqual({ Allow: "GET" });
    },
  );
});

describe("a reply", () => {
  it("is readable by a configured origin alone, and caches keep the origins apart", () => {
    expect(headers(cors.forReply(own))).toMatchObject({ "Access-Control-Allow-Origin": own, Vary: "Origin" });
    for (const origin of ["https://other.example", null])
      expect(headers(cors.forReply(origin))).toEqual({ Vary: "Origin" });
    expect(createCors([]).forReply(own)).toBeNull();
  });
});
