import { describe, expect, it } from "@jest/globals";
import { freeHook } from "../testing/free-hook.ts";
import { type IntakeEvent, type IntakeHook, type IntakeLimits, type IntakeOrganization, planIntake } from "./intake.ts";

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
const organization: IntakeOrganization = { orgId, partnerId: "p", held: true, backlogged: false, keeps: false };
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
 * queued, s streamed, k kept; empty when no webhook wants them.
 */
function planned(count: number, change: Change = {}): string {
  const events = Array.from({ length: count }, (_, n) => event(String(n)));
  const plan = planIntake(
    events,
    new Map([[orgId, { ...organization, ...change.organization }]]),
    [{ ...free, ...change.hook }],
    { ...limits, ...change.limits },
    change.inFlight ?? (() => 0),
  );
  const letter = (each: IntakeEvent) => {
    if (plan.streamed.includes(each)) return "s";
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
    ["beyond their organization's share in flight are streamed", 2, { limits: { organizationConcurrency: 1 } }, "ls"],
    ["beyond a batch's events of one organization are streamed", 5, { limits: { perOrganization: 3 } }, "lllss"],
    ["beyond so many deliveries are streamed", 5, { limits: { deliveriesPerOrganization: 3 } }, "lllss"],
    ["beyond so many deliveries of their partner are streamed", 5, { limits: { deliveriesPerPartner: 2 } }, "llsss"],
    ["are streamed while their organization has a backlog", 1, { organization: { backlogged: true } }, "s"],
    ["are streamed to an organization with an ordered webhook", 1, { hook: { ordered: true } }, "s"],
    ["are streamed while webhooks of their organization are changing", 1, { organization: { held: false } }, "s"],
    [
      "without a subscription are kept where there was a webhook once",
      2,
      { hook: { events: ["user.login"] }, organization: { keeps: true } },
      "kk",
    ],
    ["without a subscription are dropped elsewhere", 2, { hook: { events: ["user.login"] } }, ""],
    [
      "without a subscription yet are streamed while webhooks are changing",
      1,
      { hook: { events: ["user.login"] }, organization: { held: false } },
      "s",
    ],
  ])("%s", (_what, count, change, expected) => {
    expect(planned(count, change)).toBe(expected);
  });
});
