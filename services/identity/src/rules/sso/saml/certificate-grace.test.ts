import { describe, expect, it } from "@jest/globals";
import type { StoredCertificate } from "../provider.ts";
import { daysLeft, warningAt, withGracePeriod } from "./certificate-grace.ts";

const day = 86_400_000;
const start = new Date("2026-01-01T00:00:00Z");
const after = (days: number) => new Date(start.getTime() + days * day);
const certificate = (fingerprint: string, change: Partial<StoredCertificate> = {}): StoredCertificate => ({
  pem: fingerprint,
  fingerprint,
  notBefore: start.toISOString(),
  notAfter: after(100).toISOString(),
  source: "metadata",
  ...change,
});
const names = (certificates: readonly StoredCertificate[]) => certificates.map(({ fingerprint }) => fingerprint);

describe("certificates of a provider whose metadata is read daily", () => {
  it("are added when they are new, and stay for seven days after they vanished", () => {
    const rotated = withGracePeriod([certificate("old")], [certificate("new")], start);
    expect(names(rotated)).toEqual(["old", "new"]);
    expect(names(withGracePeriod(rotated, [certificate("new")], after(6.9)))).toEqual(["old", "new"]);
    expect(names(withGracePeriod(rotated, [certificate("new")], after(7)))).toEqual(["new"]);
  });

  it("are counted from the day they vanished, and again after they returned", () => {
    const gone = withGracePeriod([certificate("a")], [certificate("b")], start);
    const back = withGracePeriod(gone, [certificate("a"), certificate("b")], after(3));
    expect(back.map(({ goneAt }) => goneAt)).toEqual([undefined, undefined]);
    expect(names(withGracePeriod(back, [certificate("b")], after(8)))).toEqual(["a", "b"]);
  });

  it("stay when they were set by hand", () => {
    const byHand = certificate("hand", { source: "manual" });
    expect(names(withGracePeriod([byHand], [certificate("new")], after(50)))).toEqual(["hand", "new"]);
    expect(withGracePeriod([byHand], [certificate("hand")], start)).toEqual([byHand]);
  });

  it.each([
    [31, null],
    [30, 30],
    [8, 30],
    [7, 7],
    [2, 7],
    [1, 1],
    [0, 0],
    [-3, 0],
  ])("with %i days left have the warning %p", (days, warning) => {
    expect(warningAt(days)).toBe(warning);
  });

  it("last as long as the last of them", () => {
    const soon = certificate("soon", { notAfter: after(2).toISOString() });
    expect(daysLeft([soon, certificate("late")], start)).toBe(100);
    expect(daysLeft([soon], start)).toBe(2);
    expect(daysLeft([soon], after(2.5))).toBe(-1);
  });
});
