import { describe, expect, it } from "@jest/globals";
import { freeHook } from "../testing/free-hook.ts";
import { type IntakeEvent, type IntakeHook, type IntakeLimits, type IntakePlace, planIntake } from "./intake.ts";

const orgId = "0190a000-0000-7000-8000-000000000001";
const limits: IntakeLimits = {
  room: 10,
  organizationSlots: 64,
  hostSlots: 256,
  openRequests: 100,
  perOrganization: 50,
  deliveriesPerOrganization: 250,
  deliveriesPerPartner: 1_000,
};
const place: IntakePlace = { orgId, partnerId: "p", held: true, behind: false };
const free = freeHook(orgId);
const posted = { orgId, type: "device.online", occurredAt: new Date(0), body: "{}", poster: "platform" } as const;
const event = (id: string): IntakeEvent => ({ id, ...posted });

type Change = {
  hook?: Partial<IntakeHook>;
  place?: Partial<IntakePlace>;
  limits?: Partial<IntakeLimits>;
  underWay?: (key: string) => number;
};

/**
 * The plan for this number of events of one organization with one webhook, a letter each in their order: l leased, q
 * queued, s streamed; empty when no webhook wants them.
 */
function planned(count: number, change: Change = {}): string {
  const events = Array.from({ length: count }, (_, n) => event(String(n)));
  const plan = planIntake(
    events,
    new Map([[orgId, { ...place, ...change.place }]]),
    [{ ...free, ...change.hook }],
    { ...limits, ...change.limits },
    change.underWay ?? (() => 0),
  );
  const way = (each: IntakeEvent) => {
    if (plan.streamed.includes(each)) return "s";
    const delivery = plan.deliveries.find((found) => found.event === each);
    return delivery ? (delivery.lease ? "l" : "q") : "";
  };
  return events.map(way).join("") + (plan.waiting ? " waiting" : "") + (plan.blocked.size > 0 ? " blocked" : "");
}

describe("posted events", () => {
  it.each<[string, number, Change, string]>([
    ["are leased while their webhook has free slots", 3, {}, "lll"],
    ["beyond the free slots wait for an answer of their receiver", 3, { hook: { leased: 7 } }, "lqq blocked"],
    ["of a webhook that recovers get as many slots as it has", 3, { hook: { slots: 1 } }, "lqq blocked"],
    ["of a webhook with an open breaker are queued", 1, { hook: { closed: false } }, "q"],
    ["do not pass what is queued", 1, { hook: { waits: true } }, "q waiting"],
    ["beyond what the process may send are queued", 3, { limits: { room: 1 } }, "lqq waiting"],
    ["beyond their organization's share of the host are queued", 3, { limits: { hostSlots: 8 } }, "llq waiting"],
    ["beyond their partner's share of the process are queued", 3, { limits: { openRequests: 4 } }, "llq waiting"],
    ["beyond what their host may get are queued", 1, { limits: { hostSlots: 5 }, underWay: () => 5 }, "q waiting"],
    ["of an organization with its share under way are streamed", 2, { limits: { organizationSlots: 1 } }, "ls"],
    ["of a burst are streamed", 5, { limits: { perOrganization: 3 } }, "lllss"],
    ["beyond so many deliveries are streamed", 5, { limits: { deliveriesPerOrganization: 3 } }, "lllss"],
    ["beyond so many deliveries of their partner are streamed", 5, { limits: { deliveriesPerPartner: 2 } }, "llsss"],
    ["of an organization with a backlog are streamed", 1, { place: { behind: true } }, "s"],
    ["of an organization with an ordered webhook are streamed", 1, { hook: { ordered: true } }, "s"],
    ["of an organization whose webhooks are changing are streamed", 1, { place: { held: false } }, "s"],
    ["without a subscription are dropped", 2, { hook: { events: ["user.login"] } }, ""],
    [
      "without a subscription yet are streamed while webhooks are changing",
      1,
      { hook: { events: ["user.login"] }, place: { held: false } },
      "s",
    ],
  ])("%s", (_what, count, change, expected) => {
    expect(planned(count, change)).toBe(expected);
  });
});
