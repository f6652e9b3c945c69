import { describe, expect, it } from "@jest/globals";
import type { AppError } from "@muster/kit";
import { floodControl } from "./flood.ts";

function control(rowsPerMinute: number) {
  let nowMs = 0;
  const flood = floodControl({ rowsPerMinute, nowMs: () => nowMs });
  return {
    pass: (ms: number) => {
      nowMs += ms;
    },
    /** Seconds to wait; 0 when admitted. */
    admit(device: string, rows: number, bytes = 0): number {
      try {
        flood.admit(device, rows, bytes);
        return 0;
      } catch (error) {
        return (error as AppError).retryAfterSeconds ?? Number.NaN;
      }
    },
  };
}

describe("flood control", () => {
  it("admits a minute's rows at once, then refills over time", () => {
    const { admit, pass } = control(6_000);
    expect(admit("a", 6_000)).toBe(0);
    expect(admit("a", 500)).toBe(5);
    pass(4_000);
    expect(admit("a", 500)).toBe(1);
    pass(1_000);
    expect(admit("a", 500)).toBe(0);
  });

  it("counts each device separately, and empty requests as one row", () => {
    const { admit } = control(1_000);
    expect(admit("a", 999)).toBe(0);
    expect([admit("a", 0), admit("a", 0)]).toEqual([0, 1]);
    expect(admit("b", 1_000)).toBe(0);
  });

  it("counts each KiB of a request as a row, so that few huge entries are limited like many small ones", () => {
    const { admit } = control(6_000);
    expect(admit("a", 500, 300 * 500)).toBe(0);
    expect(admit("a", 60, 4_000 * 1_024)).toBe(0);
    expect(admit("a", 60, 4_000 * 1_024)).toBe(25);
    expect(admit("b", 60, 1_024)).toBe(0);
  });

  it("admits a single request that is larger than the limit of a minute", () => {
    const { admit } = control(1_000);
    expect(admit("a", 100, 4_000 * 1_024)).toBe(0);
    expect(admit("a", 1, 1)).toBe(1);
  });

  it("never accumulates more than a minute's rows", () => {
    const { admit, pass } = control(1_000);
    pass(3_600_000);
    expect(admit("a", 1_000)).toBe(0);
    expect(admit("a", 1)).toBe(1);
  });
});
