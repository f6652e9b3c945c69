import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { fieldNames, isLockable, mergeSettings, nothingSet, type Settings, shownValue } from "./settings.ts";

const pins = [null, "latest", "1.0.0"] as const;

describe("merged settings", () => {
  it.each(pins.flatMap((partner) => pins.map((organization) => [partner, organization] as const)))(
    "of a partner's pin %s and an organization's %s inherit, and the organization's wins",
    (partner, organization) => {
      const { settings, sources } = mergeSettings(
        { ...nothingSet, agentTarget: partner },
        { ...nothingSet, agentTarget: organization },
      );
      expect(settings.agentTarget).toBe(organization ?? partner ?? "latest");
      expect(sources.agentTarget).toBe(organization ? "organization" : partner ? "partner" : "default");
      expect([settings.watchdogTarget, sources.watchdogTarget]).toEqual(["latest", "default"]);
    },
  );

  it("use the partner's policy and window where it set them, each field separately", () => {
    const level = fc.record<Settings>({
      agentTarget: fc.constantFrom(...pins),
      watchdogTarget: fc.constantFrom(...pins),
      updatePolicy: fc.constantFrom(null, "automatic", "manual"),
      windowDays: fc.constantFrom(null, ["mon"] as const, ["sat", "sun"] as const),
      windowStart: fc.constantFrom(null, 0, 60),
      windowEnd: fc.constantFrom(null, 120, 1_440),
      rollbackNote: fc.constantFrom(null, "a", "b"),
    });
    fc.assert(
      fc.property(level, level, (partner, organization) => {
        const { settings, sources } = mergeSettings(partner, organization);
        expect(settings.rollbackNote).toBe(organization.rollbackNote ?? partner.rollbackNote);
        for (const field of fieldNames.filter(isLockable)) {
          const winner = partner[field] ?? organization[field];
          if (winner !== null) expect(settings[field]).toEqual(winner);
          const source =
            partner[field] !== null ? "partner" : organization[field] !== null ? "organization" : "default";
          expect(sources[field]).toBe(source);
        }
      }),
    );
  });
});

describe("a setting in replies", () => {
  it.each<[Parameters<typeof shownValue>[0], Parameters<typeof shownValue>[1], unknown]>([
    ["windowStart", 510, "08:30"],
    ["windowEnd", 1_440, "24:00"],
    ["windowStart", 0, "00:00"],
    ["windowEnd", null, null],
    ["windowDays", ["mon"], ["mon"]],
    ["agentTarget", "1.0.0", "1.0.0"],
  ])("%s %j is %j", (field, value, shown) => {
    expect(shownValue(field, value)).toEqual(shown);
  });
});
