import { describe, expect, it } from "@jest/globals";
import { checks, type JsonObject } from "./fields.ts";
import { checkPartnerSettings, mergeSettings } from "./settings.ts";

function badFields(patch: JsonObject): string[] {
  const check = checks();
  checkPartnerSettings(patch, "settings", check);
  try {
    check.done();
    return [];
  } catch (error) {
    return Object.keys((error as { facts: { details: { fieldErrors: object } } }).facts.details.fieldErrors);
  }
}

const day = { start: "09:00", end: "17:30" };
const custom = (value: unknown) => ({ businessHours: { preset: "custom", custom: value } });

describe("partner settings", () => {
  it.each([
    [{}],
    [{ timezone: "America/New_York", dateFormat: "YYYY-MM-DD", timeFormat: "24h", language: "en" }],
    [{ timezone: null, dateFormat: null, contact: null, businessHours: null }],
    [{ businessHours: { preset: "24/7" } }],
    [{ businessHours: { preset: "custom", custom: { mon: day, sunday: { ...day, closed: true } } } }],
    [{ contact: { name: "A", email: "a@example.com", phone: "+1", website: "example.com" } }],
    [{ contact: { email: "", phone: null } }],
    [{ anything: { else: [1, 2] } }],
  ])("accept %j", (patch) => {
    expect(badFields(patch)).toEqual([]);
  });

  it.each([
    ["settings.timezone", { timezone: "Mars/Base" }],
    ["settings.timezone", { timezone: 1 }],
    ["settings.timezone", { timezone: "" }],
    ["settings.dateFormat", { dateFormat: "DD.MM.YYYY" }],
    ["settings.timeFormat", { timeFormat: "24" }],
    ["settings.language", { language: "de" }],
    ["settings.language", { language: ["en"] }],
    ["settings.businessHours", { businessHours: "24/7" }],
    ["settings.businessHours", { businessHours: [] }],
    ["settings.businessHours.preset", { businessHours: { preset: "never" } }],
    ["settings.businessHours.custom", custom([day])],
    ["settings.businessHours.custom.someday", custom({ someday: day })],
    ["settings.businessHours.custom.mon.start", custom({ mon: { start: "24:00", end: "10:00" } })],
    ["settings.businessHours.custom.mon.end", custom({ mon: { start: "09:00" } })],
    ["settings.businessHours.custom.mon.closed", custom({ mon: { ...day, closed: "yes" } })],
    ["settings.contact", { contact: "Ada" }],
    ["settings.contact.name", { contact: { name: 1 } }],
    ["settings.contact.email", { contact: { email: "no mail" } }],
    ["settings.contact.website", { contact: { website: "x".repeat(256) } }],
  ])("name %s in %j", (field, patch) => {
    expect(badFields(patch)).toEqual([field]);
  });
});

describe("merging settings", () => {
  it.each<[string, JsonObject, JsonObject, JsonObject]>([
    ["overwrites what is sent", { a: 1, b: 2 }, { a: 3 }, { a: 3, b: 2 }],
    ["removes by null", { a: 1, b: 2 }, { a: null }, { b: 2 }],
    [
      "merges a dotted key",
      { contact: { name: "A", phone: "1" } },
      { contact: { phone: "2" } },
      { contact: { name: "A", phone: "2" } },
    ],
    [
      "removes inside a dotted key",
      { contact: { name: "A", phone: "1" } },
      { contact: { phone: null } },
      { contact: { name: "A" } },
    ],
    [
      "replaces a schedule whole",
      { businessHours: { preset: "custom", custom: { mon: 1 } } },
      { businessHours: { custom: { tue: 2 } } },
      { businessHours: { preset: "custom", custom: { tue: 2 } } },
    ],
    ["replaces any other object", { theme: { a: 1 } }, { theme: { b: 2 } }, { theme: { b: 2 } }],
    ["keeps no null of a new dotted key", {}, { contact: { name: "A", email: null } }, { contact: { name: "A" } }],
    [
      "never changes a prototype",
      {},
      JSON.parse('{"constructor":1,"toString":2}'),
      { constructor: 1, toString: 2 } as never,
    ],
  ])("%s", (_name, stored, patch, expected) => {
    const before = structuredClone(stored);
    expect(mergeSettings(stored, patch, "settings", checks())).toEqual(expected);
    expect(stored).toEqual(before);
  });
});
