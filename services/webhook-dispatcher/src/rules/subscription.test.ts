import { describe, expect, it } from "@jest/globals";
import { eventTypes, type FieldErrors, isEventPattern, uuidv7 } from "@muster/kit";
import { type EventFilter, filterOf, noFilter } from "./event-filter.ts";
import { matchesType, subscribes } from "./subscription.ts";

const [site, group, other] = [uuidv7(), uuidv7(), uuidv7()];

describe("a subscription", () => {
  it.each<[string[], string, boolean]>([
    [["*"], "device.online", true],
    [["*"], "custom.order", true],
    [["device.*"], "device.online", true],
    [["device.*"], "devices.online", false],
    [["device.*"], "patch.failed", false],
    [["patch.failed", "remote.session.*"], "remote.session.started", true],
    [["remote.*"], "remote.session.started", true],
    [["custom.*"], "custom.order.shipped", true],
    [["custom.order.*"], "custom.order", false],
    [["custom.order"], "custom.order.shipped", false],
    [["*"], "webhook.health_changed", false],
    [["webhook.*"], "webhook.health_changed", false],
    [["webhook.health_changed"], "webhook.health_changed", true],
  ])("to %j and an event %s: %s", (events, type, gets) => {
    expect(matchesType(events, type)).toBe(gets);
  });

  it("takes each beginning of the catalogue as a pattern, and own ones", () => {
    for (const type of eventTypes) expect(isEventPattern(`${type.split(".")[0]}.*`)).toBe(true);
    for (const pattern of ["custom.*", "custom.a.*"]) expect(isEventPattern(pattern)).toBe(true);
    for (const pattern of [
      "*",
      ".*",
      "d.*",
      "dev*",
      "device.on*",
      "device.**",
      "*.online",
      "custom.A.*",
      "nothing.*",
    ]) {
      expect([pattern, isEventPattern(pattern)]).toEqual([pattern, false]);
    }
  });
});

describe("a webhook", () => {
  const [own, another] = [uuidv7(), uuidv7()];
  const gets = (type: string, webhookId: string) =>
    subscribes(
      { id: own, events: [type], filter: null },
      { type, body: JSON.stringify({ type, data: { webhookId } }) },
    );

  it("gets no event of its own health, but those of others and every other one about itself", () => {
    expect(gets("webhook.health_changed", own)).toBe(false);
    expect(gets("webhook.health_changed", another)).toBe(true);
    expect(gets("custom.order", own)).toBe(true);
  });
});

describe("a filter", () => {
  const gets = (filter: Partial<EventFilter>, data: unknown) => {
    const body = JSON.stringify({ type: "device.online", data });
    const webhook = { id: uuidv7(), events: ["device.*"], filter: { ...noFilter, ...filter } };
    return subscribes(webhook, { type: "device.online", body });
  };

  it.each<[Partial<EventFilter>, unknown, boolean]>([
    [{ siteIds: [site] }, { siteId: site }, true],
    [{ siteIds: [site] }, { siteId: site.toUpperCase() }, true],
    [{ siteIds: [other, site] }, { siteId: site }, true],
    [{ siteIds: [other] }, { siteId: site }, false],
    [{ siteIds: [site] }, {}, false],
    [{ siteIds: [site] }, { siteId: null }, false],
    [{ groupIds: [group] }, { groupIds: [other, group] }, true],
    [{ groupIds: [group] }, { groupIds: [] }, false],
    [{ groupIds: [group] }, { siteId: site }, false],
    [{ siteIds: [site], groupIds: [group] }, { siteId: site, groupIds: [group] }, true],
    [{ siteIds: [site], groupIds: [group] }, { siteId: site, groupIds: [other] }, false],
    [{ labels: ["env"] }, { labels: { env: "prod" } }, true],
    [{ labels: ["env=prod"] }, { labels: { env: "prod" } }, true],
    [{ labels: ["env=test"] }, { labels: { env: "prod" } }, false],
    [{ labels: ["blue"] }, { labels: ["red", "blue"] }, true],
    [{ labels: ["blue"] }, { labels: "blue" }, false],
    [{ labels: ["blue"] }, { labels: [1, null] }, false],
    [{ labels: ["rack=7"] }, { labels: { rack: 7 } }, true],
    // An object that has no text: JSON may bring one.
    [{ labels: ["env=prod"] }, { labels: { env: { toString: 1, valueOf: 1 } } }, false],
    [{ labels: ["env"] }, { labels: { env: { toString: 1, valueOf: 1 } } }, true],
    [{ labels: ["env=prod"] }, { labels: { env: [{ toString: 1 }] } }, false],
  ])("%j lets %j pass: %s", (filter, data, passes) => {
    expect(gets(filter, data)).toBe(passes);
  });

  it("is none without values, and names what cannot be stored", () => {
    const errors: FieldErrors = {};
    expect(filterOf(noFilter, errors)).toBeNull();
    expect(filterOf({ siteIds: [site.toUpperCase(), site], groupIds: [], labels: [" a "] }, errors)).toEqual({
      siteIds: [site],
      groupIds: [],
      labels: ["a"],
    });
    expect(errors).toEqual({});
    filterOf(
      {
        siteIds: ["x"],
        groupIds: Array(101)
          .fill(0)
          .map(() => uuidv7()),
        labels: ["", "x".repeat(201)],
      },
      errors,
    );
    expect(Object.keys(errors).sort()).toEqual([
      "filter.groupIds",
      "filter.labels.0",
      "filter.labels.1",
      "filter.siteIds.0",
    ]);
  });
});
