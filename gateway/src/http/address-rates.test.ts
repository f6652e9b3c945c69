import { describe, expect, it } from "@jest/globals";
import { AppError } from "@muster/kit";
import { createAddressRates } from "./address-rates.ts";

function counted(perMinute: number) {
  let nowMs = 0;
  const rates = createAddressRates({ perMinute: { sso: perMinute, portal: perMinute }, max: 100, now: () => nowMs });
  return {
    pass: (ms: number) => {
      nowMs += ms;
    },
    /** Seconds to wait, or null when the request was admitted. */
    count(address: string | null, route = "GET /a"): number | null {
      try {
        rates.count("sso", route, address);
        return null;
      } catch (error) {
        if (!(error instanceof AppError)) throw error;
        expect(error.code).toBe("rate_limited");
        return error.retryAfterSeconds ?? 0;
      }
    },
  };
}

describe("the limit of an address", () => {
  it("admits a burst of a minute's requests, refuses the next and returns the seconds until it is admitted", () => {
    const { count, pass } = counted(3);
    expect([1, 2, 3, 4].map(() => count("10.0.0.1"))).toEqual([null, null, null, 20]);
    pass(19_999);
    expect(count("10.0.0.1")).toBe(1);
    pass(1);
    expect(count("10.0.0.1")).toBeNull();
    expect(count("10.0.0.1")).toBe(20);
  });

  it("is counted per route and address, with an IPv6 /64 as one address", () => {
    const { count } = counted(1);
    expect(count("10.0.0.1")).toBeNull();
    expect(count("10.0.0.2")).toBeNull();
    expect(count("10.0.0.1", "GET /b")).toBeNull();
    expect(count("2001:db8::1")).toBeNull();
    expect(count("2001:db8::2")).toBe(60);
    expect(count("2001:db8:0:1::2")).toBeNull();
    expect([count(null), count(null)]).toEqual([null, 60]);
  });

  it("never accumulates more than a minute's requests", () => {
    const { count, pass } = counted(2);
    expect(count("10.0.0.1")).toBeNull();
    pass(3_600_000);
    expect([1, 2, 3].map(() => count("10.0.0.1"))).toEqual([null, null, 30]);
  });
});
