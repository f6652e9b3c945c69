import { describe, expect, it } from "@jest/globals";
import type { StoredCertificate } from "./provider.ts";
import { type FailedSignIns, providerHealth } from "./provider-health.ts";

const now = new Date("2026-02-01T00:00:00Z");
const since = new Date("2026-01-31T12:00:00Z");
const endingAt = (notAfter: string): StoredCertificate => ({
  ...{ pem: "", fingerprint: "", notBefore: "2025-01-01T00:00:00Z", source: "manual" },
  notAfter,
});
type Facts = Parameters<typeof providerHealth>[0];
const oidc: Facts = { type: "oidc", status: "active", saml_certificates: [], saml_metadata_error: null };
const saml: Facts = { ...oidc, type: "saml" };
const failed = (count: number): FailedSignIns => ({ count, since, reason: "token_invalid" });
const [past, coming] = [endingAt("2026-01-31T00:00:00Z"), endingAt("2026-02-02T00:00:00Z")];

describe("the health of an identity provider", () => {
  it.each<[string, Facts, FailedSignIns | null, string, string]>([
    ["healthy", oidc, null, "healthy", "No recent sign-in failed."],
    ["healthy with few failures", oidc, failed(2), "healthy", "Few sign-ins failed."],
    ["healthy while nobody uses it", { ...oidc, status: "testing" }, failed(50), "healthy", "it is testing."],
    ["failing from three failures on", oidc, failed(3), "failing", "3 sign-ins in a row failed since 2026-01-31T12"],
    ["unreachable from ten on", oidc, failed(10), "unreachable", "the last: token_invalid."],
    [
      "failing without its metadata",
      { ...saml, saml_metadata_error: "404" },
      null,
      "failing",
      "could not be read: 404",
    ],
    [
      "unreachable after its last certificate",
      { ...saml, saml_certificates: [past] },
      null,
      "unreachable",
      "ended at 2026-01-31",
    ],
    [
      "unreachable at its last certificate's end",
      { ...saml, saml_certificates: [{ ...past, notAfter: now.toISOString() }] },
      null,
      "unreachable",
      `ended at ${now.toISOString()}`,
    ],
    [
      "healthy while one certificate counts",
      { ...saml, saml_certificates: [past, coming] },
      null,
      "healthy",
      "No recent",
    ],
  ])("is %s", (_what, row, signIns, status, reason) => {
    expect(providerHealth(row, signIns, now)).toEqual({ status, reason: expect.stringContaining(reason) });
  });
});
