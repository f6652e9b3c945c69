import { expect, it } from "@jest/globals";
import { originsIn, stateOf } from "./portal-link-state.ts";

const now = new Date("2026-11-27T10:00:00Z");
const later = "2026-11-27T10:30:00Z";
const earlier = "2026-11-27T09:30:00Z";

it.each([
  ["not opened", { revokedAt: null, openedAt: null, expiresAt: later }],
  ["open", { revokedAt: null, openedAt: earlier, expiresAt: later }],
  ["expired", { revokedAt: null, openedAt: earlier, expiresAt: earlier }],
  ["revoked", { revokedAt: earlier, openedAt: earlier, expiresAt: later }],
])("a portal link is %s", (state, link) => {
  expect(stateOf(link, now)).toBe(state);
});

it.each([
  ["", []],
  ["https://a.example.com", ["https://a.example.com"]],
  ["https://a.example.com,\n https://b.example.com\n", ["https://a.example.com", "https://b.example.com"]],
])("the origins in %j are %j", (text, origins) => {
  expect(originsIn(text)).toEqual(origins);
});
