import { describe, expect, it } from "@jest/globals";
import { freeHook } from "../testing/free-hook.ts";
import {
  type IntakeEvent,
  type IntakeHook,
  type IntakeLimits,
  type IntakeOrganization,
  type IntakeStage,
  planIntake,
} from "./intake.ts";

const orgId = "0190a000-0000-7000-8000-000000000001";
const limits: IntakeLimits = {
  room: 10,
  organizationConcurrency: 64,
  hostConcurrency: 256,
  openRequests: 100,
  perOrganization: 50,
  deliveriesPerOrganization: 250,
  deliveriesPerPartner: 1_000,
};
const organization: IntakeOrganization = {
  orgId,
  partnerId: "p",
  exists: true,
  held: true,
  backlogged: false,
  keeps: false,
};
const free = freeHook(orgId);
const posted = { orgId, type: "device.online", occurredAt: new Date(0), body: "{}", poster: "platform" } as const;
const event = (id: string): IntakeEvent => ({ id, ...posted });

type Change = {
  hook?: Partial<IntakeHook>;
  organization?: Partial<IntakeOrganization>;
  limits?: Partial<IntakeLimits>;
  inFlight?: (key: string) => number;
};

/**
 * The plan for this number of events of one organization with one webhook, a letter each in their order: l leased, q
 * queued, n for the next stage, k kept; empty when no webhook wants them.
 */
function planned(count: number, change: Change = {}, stage: IntakeStage = "post"): string {
  const events = Array.from({ length: count }, (_, n) => event(String(n)));
  const plan = planIntake(
    stage,
    events,
    new Map([[orgId, { ...organization, ...change.organization }]]),
    [{ ...free, ...change.hook }],
    { ...limits, ...change.limits },
    change.inFlight ?? (() => 0),
  );
  const letter = (each: IntakeEvent) => {
    if (plan.later.includes(each)) return "n";
    if (plan.kept.some(({ event }) => event === each)) return "k";
    const delivery = plan.deliveries.find((found) => found.event === each);
    return delivery ? (delivery.lease ? "l" : "q") : "";
  };
  return events.map(letter).join("") + (plan.waiting ? " waiting" : "") + (plan.blocked.size > 0 ? " blocked" : "");
}

describe("posted events", () => {
  it.each<[string, number, Change, string]>([
    ["are leased while their webhook has free slots", 3, {}, "lll"],
    ["beyond the free slots wait for a request of their webhook to end", 3, { hook: { leased: 7 } }, "lqq blocked"],
    ["get the slots of a recovering webhook", 3, { hook: { slots: 1 } }, "lqq blocked"],
    ["are queued while the breaker is open", 1, { hook: { closed: false } }, "q"],
    ["do not overtake queued deliveries", 1, { hook: { waits: true } }, "q waiting"],
    ["beyond the free slots of the process are queued", 3, { limits: { room: 1 } }, "lqq waiting"],
    ["beyond their organization's share of the host are queued", 3, { limits: { hostConcurrency: 8 } }, "llq waiting"],
    ["beyond their partner's share of the process are queued", 3, { limits: { openRequests: 4 } }, "llq waiting"],
    [
      "beyond the free slots of their host are queued",
      1,
      { limits: { hostConcurrency: 5 }, inFlight: () => 5 },
      "q waiting",
    ],
    [
      "beyond their organization's share in flight are left to the stream",
      2,
      { limits: { organizationConcurrency: 1 } },
      "ln",
    ],
    [
      "beyond a batch's events of one organization are left to the stream",
      5,
      { limits: { perOrganization: 3 } },
      "lllnn",
    ],
    ["beyond so many deliveries are left to the stream", 5, { limits: { deliveriesPerOrganization: 3 } }, "lllnn"],
    [
      "beyond so many deliveries of their partner are left to the stream",
      5,
      { limits: { deliveriesPerPartner: 2 } },
      "llnnn",
    ],
    ["are left to the stream while their organization has a backlog", 1, { organization: { backlogged: true } }, "n"],
    ["are left to the stream to an organization with an ordered webhook", 1, { hook: { ordered: true } }, "n"],
    [
      "are left to the stream while webhooks of their organization are changing",
      1,
      { organization: { held: false } },
      "n",
    ],
    [
      "without a subscription are kept where there was a webhook once",
      2,
      { hook: { events: ["user.login"] }, organization: { keeps: true } },
      "kk",
    ],
    ["without a subscription are dropped elsewhere", 2, { hook: { events: ["user.login"] } }, ""],
    [
      "without a subscription yet are left to the stream while webhooks are changing",
      1,
      { hook: { events: ["user.login"] }, organization: { held: false } },
      "n",
    ],
  ])("%s", (_what, count, change, expected) => {
    expect(planned(count, change)).toBe(expected);
  });

  it("with one id count once", () => {
    const repeated = [event("1"), event("2"), event("1")];
    const plan = planIntake("post", repeated, new Map([[orgId, organization]]), [free], limits, () => 0);
    expect(plan.deliveries.map((each) => each.event)).toEqual(repeated.slice(0, 2));
  });
});

describe("events of the stream", () => {
  it.each<[string, number, Change, string]>([
    ["are leased while their webhook has free slots", 2, {}, "ll"],
    ["are queued where nothing is leased", 2, { organization: { held: false } }, "qq waiting"],
    [
      "beyond their organization's share in flight are queued",
      2,
      { limits: { organizationConcurrency: 1 } },
      "lq waiting",
    ],
    ["beyond a batch's events of one organization are backlogged", 5, { limits: { perOrganization: 3 } }, "lllnn"],
    ["are backlogged behind a backlog", 1, { organization: { backlogged: true } }, "n"],
    ["are backlogged for an ordered webhook", 1, { hook: { ordered: true } }, "n"],
    [
      "are queued for webhooks of an organization that is missing here",
      1,
      { organization: { exists: false, held: false } },
      "q waiting",
    ],
    ["without a subscription are dropped", 1, { hook: { events: ["user.login"] }, organization: { held: false } }, ""],
  ])("%s", (_what, count, change, expected) => {
    expect(planned(count, change, "stream")).toBe(expected);
  });
});

describe("events of the backlog", () => {
  const held = { held: false, backlogged: true };
  it.each<[string, number, Change, string]>([
    ["are all queued", 5, { organization: held, limits: { perOrganization: 3 } }, "qqqqq waiting"],
    ["are queued for an ordered webhook", 2, { organization: held, hook: { ordered: true } }, "qq waiting"],
    ["are kept without a subscription", 1, { organization: { ...held, keeps: true }, hook: { events: [] } }, "k"],
  ])("%s", (_what, count, change, expected) => {
    expect(planned(count, change, "backlog")).toBe(expected);
  });
});
