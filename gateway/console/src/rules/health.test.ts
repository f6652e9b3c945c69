import { expect, it } from "@jest/globals";
import { directoryHealth, endsSoon, keyHealth, providerHealth, shownHealth } from "./health.ts";

it.each([
  ["active", "healthy", "healthy", "good"],
  ["active", "failing", "failing", "bad"],
  ["active", "some_new_state", "some_new_state", "off"],
  ["paused", "failing", "paused", "warn"],
  ["failed", "failing", "failing", "bad"],
])("a record that is %s and %s is shown as %s", (status, health, word, tone) => {
  expect(shownHealth({ status, health: { status: health } })).toEqual({ word, tone });
});

const now = new Date("2026-11-01T00:00:00Z");

it("a stream of which nothing is known is shown as healthy", () => {
  expect(shownHealth({ status: "active", health: null }).word).toBe("healthy");
});

it.each([
  ["active", null, "active"],
  ["active", "failing", "failing"],
  ["testing", "failing", "testing"],
  ["inactive", "healthy", "inactive"],
])("a provider that is %s and %s is shown as %s", (status, health, word) => {
  const provider = { status, health: health === null ? null : { status: health }, type: "oidc", samlCertificates: [] };
  expect(providerHealth(provider, now).word).toBe(word);
});

it.each([
  ["active", "healthy", "2026-11-13", "certificate ends", "warn"],
  ["active", "healthy", "2026-12-02", "healthy", "good"],
  ["active", "failing", "2026-11-13", "failing", "bad"],
  ["testing", "healthy", "2026-11-13", "testing", "off"],
])(
  "a SAML provider that is %s and %s, its last certificate until %s, is shown as %s",
  (status, health, day, ...shown) => {
    const samlCertificates = [{ notAfter: "2026-10-01T00:00:00.000Z" }, { notAfter: `${day}T00:00:00.000Z` }];
    const provider = { status, health: { status: health }, type: "saml", samlCertificates };
    const { word, tone } = providerHealth(provider, now);
    expect([word, tone]).toEqual(shown);
    expect(endsSoon(provider, now)).toBe(status === "active" && day === "2026-11-13");
  },
);

it.each([
  ["active", "healthy", null, "no request yet"],
  ["active", "healthy", {}, "healthy"],
  ["active", "unreachable", null, "unreachable"],
  ["paused", "healthy", null, "paused"],
])("a directory that is %s and %s, with the cycle %j, is shown as %s", (status, health, lastCycle, word) => {
  expect(directoryHealth({ status, health: { status: health }, lastCycle }).word).toBe(word);
});

it.each([
  ["of months ago that was used", {}, "active", "good"],
  ["that ends within two weeks", { expiresAt: "2026-11-12T00:00:00Z" }, "ends soon", "warn"],
  ["that ends later", { expiresAt: "2027-11-12T00:00:00Z" }, "active", "good"],
  ["that nobody has used for two months", { lastUsedAt: "2026-08-30T00:00:00Z" }, "unused", "warn"],
  ["that nobody has ever used", { lastUsedAt: null }, "unused", "warn"],
  ["that is new and was not used yet", { lastUsedAt: null, createdAt: "2026-10-30T00:00:00Z" }, "active", "good"],
  ["that is revoked", { status: "revoked", lastUsedAt: null }, "revoked", "off"],
])("a key %s is shown by what it waits for", (_which, of, word, tone) => {
  const used = {
    status: "active",
    expiresAt: null,
    lastUsedAt: "2026-10-31T00:00:00Z",
    createdAt: "2026-01-01T00:00:00Z",
  };
  expect(keyHealth({ ...used, ...of }, now)).toEqual({ word, tone });
});
