import { describe, expect, it } from "@jest/globals";
import { AppError } from "@muster/kit";
import { type KeyChecks, keyChecks, most } from "./key-fields.ts";

const now = new Date("2026-06-01T00:00:00Z");

/** The fields that `done` names after these checks. */
function badFields(check: (checks: KeyChecks) => void): string[] {
  const checks = keyChecks();
  check(checks);
  try {
    checks.done();
    return [];
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return Object.keys((error.facts.details as { fieldErrors: object }).fieldErrors);
  }
}

describe("fields of a key", () => {
  it.each([
    [0, false],
    [1, true],
    [1.5, false],
    [most, true],
    [most + 1, false],
    [Number.NaN, false],
  ])("a limit or number of uses of %p is fine: %p", (value, isFine) => {
    const wanted = isFine ? [] : ["rateLimit", "maxUsage"];
    expect(badFields((checks) => [checks.rateLimit(value), checks.maxUsage(value)])).toEqual(wanted);
  });

  it.each([
    ["now", now, false],
    ["a moment later", new Date(+now + 1), true],
    ["the last moment of year 9999", new Date("9999-12-31T23:59:59.999Z"), true],
    ["year 10000", new Date("+010000-01-01T00:00:00Z"), false],
    ["no time", new Date(Number.NaN), false],
  ])("an end at %s is fine: %p", (_, end, isFine) => {
    expect(badFields((checks) => checks.expiresAt(end, now))).toEqual(isFine ? [] : ["expiresAt"]);
  });

  it("holds ranges once each, in one form and in order", () => {
    const ranges = keyChecks().allowedIps(["10.1.2.3/8", "2001:DB8::1", "10.0.0.0/8"]);
    expect(ranges).toEqual([...ranges].sort());
    expect(ranges).toHaveLength(2);
  });

  it("takes 50 ranges, and no 51, none that is no range, no name without text", () => {
    const many = (count: number) => Array.from({ length: count }, (_, n) => `10.0.0.${n}`);
    expect(badFields((checks) => checks.allowedIps(many(50)))).toEqual([]);
    expect(badFields((checks) => checks.allowedIps(many(51)))).toEqual(["allowedIps"]);
    expect(badFields((checks) => checks.allowedIps(["10.0.0.0/33"]))).toEqual(["allowedIps"]);
    expect(badFields((checks) => [checks.name(""), checks.name("Till")])).toEqual(["name"]);
  });
});
