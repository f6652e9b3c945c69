import { describe, expect, it } from "@jest/globals";
import { endpointsOf, missingOf } from "./endpoints.ts";
import type { Discovered, StoredCertificate } from "./provider.ts";

type Row = Parameters<typeof endpointsOf>[0];

const now = new Date("2026-01-31T12:00:00Z");
const discovered: Discovered = {
  authorizationUrl: "https://idp.test/authorize",
  tokenUrl: "https://idp.test/token",
  jwksUrl: "https://idp.test/keys",
  userInfoUrl: "https://idp.test/me",
  tokenAuthMethods: ["client_secret_basic"],
  signingAlgorithms: ["RS256"],
  sendsIss: false,
};
const oidc: Row = {
  type: "oidc",
  issuer: "https://idp.test",
  client_id: "muster",
  client_secret_sealed: Buffer.from("sealed"),
  discovered,
  authorization_url: null,
  token_url: null,
  user_info_url: null,
  jwks_url: null,
  saml_entity_id: null,
  saml_sso_url: null,
  saml_certificates: [],
};
const certificate = (notAfter: string): StoredCertificate => ({
  pem: "",
  fingerprint: "",
  notBefore: "2025-01-31T12:00:00Z",
  notAfter,
  source: "manual",
});
const saml: Row = {
  ...oidc,
  type: "saml",
  issuer: null,
  client_id: null,
  client_secret_sealed: null,
  discovered: null,
  saml_entity_id: "https://idp.test",
  saml_sso_url: "https://idp.test/saml",
  saml_certificates: [certificate("2026-01-31T11:00:00Z"), certificate("2026-01-31T13:00:00Z")],
};

describe("endpoints of a provider", () => {
  it("are those that it publishes", () => {
    expect(endpointsOf(oidc)).toEqual(discovered);
  });

  it.each([
    ["authorization_url", "authorizationUrl"],
    ["token_url", "tokenUrl"],
    ["jwks_url", "jwksUrl"],
    ["user_info_url", "userInfoUrl"],
  ])("are those set by hand first: %s", (column, name) => {
    const url = "https://idp.test/own";
    expect(endpointsOf({ ...oidc, [column]: url })).toEqual({ ...discovered, [name]: url });
  });

  it.each(["authorizationUrl", "tokenUrl", "jwksUrl"])("are none without %s", (name) => {
    expect(endpointsOf({ ...oidc, discovered: { ...discovered, [name]: "" } })).toBeNull();
  });

  it("are none before the provider was read", () => {
    const url = "https://idp.test/own";
    const byHand = { authorization_url: url, token_url: url, jwks_url: url };
    expect(endpointsOf({ ...oidc, ...byHand, discovered: null })).toBeNull();
  });
});

describe("a provider lacks", () => {
  it.each([
    ["nothing", oidc, {}, []],
    ["its issuer", oidc, { issuer: null }, ["issuer"]],
    ["its endpoints", oidc, { discovered: null }, ["issuer"]],
    ["the client", oidc, { client_id: null, client_secret_sealed: null }, ["clientId", "clientSecret"]],
    ["nothing, by SAML", saml, {}, []],
    ["its entity id", saml, { saml_entity_id: null }, ["samlEntityId"]],
    ["its address", saml, { saml_sso_url: null }, ["samlSsoUrl"]],
    ["a certificate", saml, { saml_certificates: [] }, ["samlCertificates"]],
    [
      "a certificate that is valid now",
      saml,
      { saml_certificates: [certificate("2026-01-31T12:00:00Z")] },
      ["samlCertificates"],
    ],
  ])("%s", (_what, row, change, expected) => {
    expect(missingOf({ ...row, ...change }, now)).toEqual(expected);
  });
});
