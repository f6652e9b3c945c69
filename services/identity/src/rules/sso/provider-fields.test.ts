import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { describe, expect, it } from "@jest/globals";
import type { AppError } from "@muster/kit";
import { SsoProviderInputSchema } from "@muster/proto/muster/identity/v1/sso_provider_pb";
import { ssoPresets } from "./presets.ts";
import { newProviderFields, providerChange } from "./provider-fields.ts";

type Init = MessageInitShape<typeof SsoProviderInputSchema>;
const id = "018F6F1E-7C2A-7B3D-9E4F-0A1B2C3D4E5F";
const input = (change: Init = {}) => create(SsoProviderInputSchema, { name: "Staff", type: "oidc", ...change } as Init);
const made = (change?: Init) => newProviderFields(input(change));
/** Names of the fields that are refused; null when none is. */
const refused = (change: Init): string[] | null => {
  try {
    made(change);
    return null;
  } catch (error) {
    return Object.keys(((error as AppError).facts.details as { fieldErrors: object }).fieldErrors);
  }
};

describe("the fields of a new provider", () => {
  it("have defaults", () => {
    expect(made()).toMatchObject({
      ...{ type: "oidc", scopes: "openid profile email", mapping: null, autoProvision: true },
      ...{ issuer: null, clientSecret: null, defaultRoleId: null, allowedDomains: [], samlCertificates: [] },
    });
  });

  it("are its preset's, unless they are sent", () => {
    const preset = ssoPresets.find(({ id: each }) => each === "oidc-workforce");
    expect(made({ preset: "oidc-workforce" })).toMatchObject({ scopes: preset?.scopes, mapping: preset?.mapping });
    const own = { scopes: "openid x", attributeMapping: { email: " mail ", name: "cn" } };
    expect(made({ preset: "oidc-workforce", ...own } as Init)).toMatchObject({
      scopes: "openid x",
      mapping: { email: "mail", name: "cn" },
    });
  });

  it("keep a secret's blanks, and an id in lower case", () => {
    expect(made({ clientSecret: " s ", defaultRoleId: id })).toMatchObject({
      clientSecret: " s ",
      defaultRoleId: id.toLowerCase(),
    });
  });

  it.each<[string, Init, string]>([
    ["without a name", { name: "" }, "name"],
    ["of another type", { type: "ldap" }, "type"],
    ["with another type's preset", { preset: "saml-directory" }, "preset"],
    ["with a long issuer", { issuer: "x".repeat(501) }, "issuer"],
    ["with NUL", { clientId: "a\0" }, "clientId"],
    ["with a long secret", { clientSecret: "x".repeat(1_001) }, "clientSecret"],
    ["without openid", { scopes: "email" }, "scopes"],
    ["with another character in a scope", { scopes: 'openid "x' }, "scopes"],
    ["with a role that is no id", { defaultRoleId: "admin" }, "defaultRoleId"],
    ["with other domains", { allowedDomains: "acme" }, "allowedDomains"],
    ["with claims without a name", { attributeMapping: { email: "", name: "n" } } as Init, "attributeMapping"],
    ["with fields of SAML", { samlEntityId: "urn:x" }, "samlEntityId"],
    ["with fields of OpenID Connect", { type: "saml", issuer: "https://x.example" }, "issuer"],
    ["with too many certificates", { type: "saml", samlCertificates: Array(11).fill("x") }, "samlCertificates"],
    ["with a long certificate", { type: "saml", samlCertificates: ["x".repeat(16_385)] }, "samlCertificates"],
  ])("are refused %s", (_case, change, field) => {
    expect(refused(change)).toEqual([field]);
  });

  it("may be of the greatest length", () => {
    expect(refused({ issuer: "x".repeat(500), clientId: "x".repeat(500), clientSecret: "x".repeat(1_000) })).toBeNull();
    expect(refused({ type: "saml", samlCertificates: Array(10).fill("x".repeat(16_384)) })).toBeNull();
  });
});

describe("a change of a provider", () => {
  it("is what its mask names, in the names of the message", () => {
    expect(providerChange(["client_id", "enforce_sso", "type"], input({ clientId: " c " }), "oidc")).toEqual({
      clientId: "c",
      enforceSso: false,
    });
  });
});
