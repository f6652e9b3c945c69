import { describe, expect, it } from "@jest/globals";
import { createEmissionRate } from "./emission-rate.ts";

describe("the pace of emission", () => {
  it("lets 1,000 messages pass at once, and 5,000 a second from then on", () => {
    let nowMs = 0;
    const pace = createEmissionRate(() => nowMs);
    for (let n = 0; n < 2; n++) expect(pace.emitted(500)).toBe(0);
    for (let n = 0; n < 20; n++) {
      expect(pace.emitted(500)).toBe(100);
      nowMs += 100;
    }
    nowMs += 1_000;
    expect(pace.emitted(1_000)).toBe(0);
  });

  it("never delays an emitter of a few thousand messages per second", () => {
    let nowMs = 0;
    const pace = createEmissionRate(() => nowMs);
    for (; nowMs < 60_000; nowMs += 1) expect(pace.emitted(nowMs % 2 === 0 ? 5 : 4)).toBe(0);
  });

  it("limits every wait to a quarter of a second, however many messages there were", () => {
    const pace = createEmissionRate(() => 0);
    expect(pace.emitted(1_000_000)).toBe(250);
    expect(pace.emitted(1)).toBe(250);
  });
});
