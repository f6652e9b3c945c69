import { describe, expect, it } from "@jest/globals";
import { isInRing, isRange } from "./ring.ts";

describe("a ring", () => {
  const device = {
    id: "d",
    orgId: "o",
    partnerId: "p",
    siteId: "s",
    groupIds: ["g"],
    labels: { env: "test", tier: "1" },
    os: "linux",
    arch: "arm64",
  };
  const ring = (change: object) => ({ name: "r", partnerIds: [], orgIds: [], siteIds: [], groupIds: [], ...change });

  it.each([
    { partnerIds: ["p"] },
    { orgIds: ["o"] },
    { siteIds: ["s"] },
    { groupIds: ["g"] },
    { labels: { env: "test" } },
    { os: ["linux", "darwin"] },
    { arch: ["arm64"] },
    { agentVersionRange: ">=1.0.0 <2" },
    { orgIds: ["o", "x"], labels: { env: "test", tier: "1" }, os: ["linux"], agentVersionRange: "1.x" },
  ])("covers a device by %j", (change) => {
    expect(isInRing([ring(change)], 1, device, "1.2.0")).toBe(true);
    expect(isInRing([ring(change)], 0, device, "1.2.0")).toBe(false);
    expect(isInRing([ring({ orgIds: ["other"] }), ring(change)], 1, device, "1.2.0")).toBe(false);
    expect(isInRing([ring({ orgIds: ["other"] }), ring(change)], 2, device, "1.2.0")).toBe(true);
  });

  it("is not needed where a rollout has none", () => {
    expect(isInRing([], 0, device, "1.2.0")).toBe(true);
  });

  it.each([
    { orgIds: ["o"], labels: { env: "live" } },
    { orgIds: ["x"], labels: { env: "test" } },
    { labels: { env: "test", region: "eu" } },
    { os: ["windows"] },
    { orgIds: ["o"], arch: ["amd64"] },
    { agentVersionRange: ">1.2.0" },
  ])("does not cover a device that has not all of %j", (change) => {
    expect(isInRing([ring(change)], 1, device, "1.2.0")).toBe(false);
  });

  it("takes pre-releases into ranges, and no version that is not a semantic one", () => {
    const only = [ring({ agentVersionRange: "<2.0.0" })];
    expect([isInRing(only, 1, device, "v2.0.0-rc.1+b"), isInRing(only, 1, device, "nightly")]).toEqual([true, false]);
    expect([isRange("^1.2 || >=3"), isRange("newest"), isRange("1".repeat(300))]).toEqual([true, false, false]);
  });
});
