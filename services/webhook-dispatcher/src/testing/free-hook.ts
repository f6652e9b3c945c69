import type { IntakeHook } from "../rules/intake.ts";

/** An idle webhook with all its slots, for every event of an organization. */
export const freeHook = (orgId: string, change: Partial<IntakeHook> = {}): IntakeHook => ({
  id: "0190a000-0000-7000-8000-0000000000aa",
  org_id: orgId,
  partner_id: "p",
  host: "one.example",
  events: ["*"],
  filter: null,
  ordered: false,
  generation: 1,
  leased: 0,
  slots: 8,
  closed: true,
  waits: false,
  ...change,
});
