import { AppError, type FieldErrors, isUuid, longerThan, nameError, validationError } from "@muster/kit";
import type { SsoProviderInput } from "@muster/proto/muster/identity/v1/sso_provider_pb";
import { domainList } from "./email-domain.ts";
import { type AttributeMapping, defaultScopes, findPreset, type ProviderType } from "./presets.ts";

/** What people set of a provider, checked; null is absent. */
export type ProviderFields = {
  name: string;
  preset: string | null;
  issuer: string | null;
  clientId: string | null;
  clientSecret: string | null;
  scopes: string;
  /** Null: the default of the type. */
  mapping: AttributeMapping | null;
  autoProvision: boolean;
  defaultRoleId: string | null;
  allowedDomains: string[];
  enforceSso: boolean;
  trustIdpMfa: boolean;
  authorizationUrl: string | null;
  tokenUrl: string | null;
  userInfoUrl: string | null;
  jwksUrl: string | null;
  samlEntityId: string | null;
  samlSsoUrl: string | null;
  samlCertificates: string[];
  samlMetadataUrl: string | null;
  samlMetadataXml: string | null;
  samlWantEncrypted: boolean;
  samlSignRequests: boolean;
  subjectAttribute: string | null;
};
export type Field = keyof ProviderFields;

/** Field of the message's mask to ours. `type` is not here: it is fixed. */
const byPath: Readonly<Record<string, Field>> = {
  name: "name",
  preset: "preset",
  issuer: "issuer",
  client_id: "clientId",
  client_secret: "clientSecret",
  scopes: "scopes",
  attribute_mapping: "mapping",
  auto_provision: "autoProvision",
  default_role_id: "defaultRoleId",
  allowed_domains: "allowedDomains",
  enforce_sso: "enforceSso",
  trust_idp_mfa: "trustIdpMfa",
  authorization_url: "authorizationUrl",
  token_url: "tokenUrl",
  user_info_url: "userInfoUrl",
  jwks_url: "jwksUrl",
  saml_entity_id: "samlEntityId",
  saml_sso_url: "samlSsoUrl",
  saml_certificates: "samlCertificates",
  saml_metadata_url: "samlMetadataUrl",
  saml_metadata_xml: "samlMetadataXml",
  saml_want_encrypted: "samlWantEncrypted",
  saml_sign_requests: "samlSignRequests",
  subject_attribute: "subjectAttribute",
};

/** Fields that one type alone has. */
const onlyOf: Readonly<Record<ProviderType, readonly Field[]>> = {
  oidc: ["issuer", "clientId", "clientSecret", "authorizationUrl", "tokenUrl", "userInfoUrl", "jwksUrl"],
  saml: [
    "samlEntityId",
    "samlSsoUrl",
    "samlCertificates",
    "samlMetadataUrl",
    "samlMetadataXml",
    "samlWantEncrypted",
    "samlSignRequests",
    "subjectAttribute",
  ],
};

/** Names of fields as clients know them, where they differ. */
const publicName = (field: Field) =>
  field === "mapping" ? "attributeMapping" : field === "enforceSso" ? "enforceSSO" : field;

const maxDomains = 100;
const maxCertificates = 10;

type Check = (field: Field, ok: boolean, text: string) => void;
type Readers = { [F in Field]: (input: SsoProviderInput, check: Check, type: ProviderType) => ProviderFields[F] };

const text =
  (field: Field, of: (input: SsoProviderInput) => string, most: number) =>
  (input: SsoProviderInput, check: Check): string | null => {
    const value = of(input).trim();
    check(field, !longerThan(value, most), `At most ${most} characters`);
    check(field, !value.includes("\0"), "Must not contain NUL characters");
    return value === "" ? null : value;
  };

const readers: Readers = {
  name(input, check) {
    const error = nameError(input.name);
    check("name", error === null, error ?? "");
    return input.name;
  },
  preset(input, check, type) {
    if (input.preset === "") return null;
    check("preset", findPreset(input.preset)?.type === type, `Must be a preset of type ${type} (GET /sso/presets)`);
    return input.preset;
  },
  issuer: text("issuer", (input) => input.issuer, 500),
  clientId: text("clientId", (input) => input.clientId, 500),
  // Kept as it is: a blank may be part of it.
  clientSecret(input, check) {
    check("clientSecret", !longerThan(input.clientSecret, 1_000), "At most 1000 characters");
    return input.clientSecret === "" ? null : input.clientSecret;
  },
  scopes(input, check, type) {
    const scopes = [...new Set(input.scopes.split(/\s+/).filter((scope) => scope !== ""))];
    if (scopes.length === 0) return defaultScopes[type];
    const shape = /^[\x21\x23-\x5b\x5d-\x7e]+$/;
    check(
      "scopes",
      scopes.every((scope) => shape.test(scope)),
      "Must be scopes separated by spaces",
    );
    check("scopes", type === "saml" || scopes.includes("openid"), "Must hold openid");
    check("scopes", scopes.join(" ").length <= 500, "At most 500 characters");
    return scopes.join(" ");
  },
  mapping(input, check) {
    const mapping = input.attributeMapping;
    if (!mapping) return null;
    const { email, name, firstName, lastName, groups } = mapping;
    check("mapping", email.trim() !== "" && name.trim() !== "", "email and name must be the names of claims");
    const all = [email, name, firstName, lastName, groups];
    check(
      "mapping",
      all.every((each) => !longerThan(each, 255) && !each.includes("\0")),
      "Each at most 255 characters",
    );
    const optional = { firstName, lastName, groups };
    const named = Object.entries(optional).filter(([, claim]) => claim.trim() !== "");
    return {
      email: email.trim(),
      name: name.trim(),
      ...Object.fromEntries(named.map(([key, claim]) => [key, claim.trim()])),
    };
  },
  autoProvision: (input) => input.autoProvision ?? true,
  defaultRoleId(input, check) {
    if (input.defaultRoleId === "") return null;
    check("defaultRoleId", isUuid(input.defaultRoleId), "Must be a UUID");
    return input.defaultRoleId.toLowerCase();
  },
  allowedDomains(input, check) {
    const domains = domainList(input.allowedDomains);
    check("allowedDomains", domains !== null, "Must be domain names separated by commas");
    check("allowedDomains", (domains ?? []).length <= maxDomains, `At most ${maxDomains} domains`);
    return domains ?? [];
  },
  enforceSso: (input) => input.enforceSso,
  trustIdpMfa: (input) => input.trustIdpMfa,
  authorizationUrl: text("authorizationUrl", (input) => input.authorizationUrl, 500),
  tokenUrl: text("tokenUrl", (input) => input.tokenUrl, 500),
  userInfoUrl: text("userInfoUrl", (input) => input.userInfoUrl, 500),
  jwksUrl: text("jwksUrl", (input) => input.jwksUrl, 500),
  samlEntityId: text("samlEntityId", (input) => input.samlEntityId, 1_024),
  samlSsoUrl: text("samlSsoUrl", (input) => input.samlSsoUrl, 500),
  samlCertificates(input, check) {
    check("samlCertificates", input.samlCertificates.length <= maxCertificates, `At most ${maxCertificates}`);
    check(
      "samlCertificates",
      input.samlCertificates.every((pem) => pem.length <= 16_384),
      "Each at most 16384 characters",
    );
    return input.samlCertificates;
  },
  samlMetadataUrl: text("samlMetadataUrl", (input) => input.samlMetadataUrl, 500),
  // Kept as it is: one reader checks it and what a URL serves.
  samlMetadataXml: ({ samlMetadataXml }) => (samlMetadataXml.trim() === "" ? null : samlMetadataXml),
  samlWantEncrypted: (input) => input.samlWantEncrypted,
  samlSignRequests: (input) => input.samlSignRequests,
  subjectAttribute: text("subjectAttribute", (input) => input.subjectAttribute, 255),
};

/** All fields of a new provider; a preset fills in scopes and mapping. Throws `validation_failed`. */
export function newProviderFields(input: SsoProviderInput): ProviderFields & { type: ProviderType } {
  const { type } = input;
  if (type !== "oidc" && type !== "saml") throw validationError({ type: ["One of oidc, saml"] });
  const fields = readFields(Object.keys(readers) as Field[], input, type) as ProviderFields;
  const preset = fields.preset === null ? null : findPreset(fields.preset);
  if (preset) {
    if (input.scopes.trim() === "") fields.scopes = preset.scopes;
    fields.mapping ??= preset.mapping;
  }
  return { ...fields, type };
}

/** The masked fields of a change. Throws `no_updates` and `validation_failed`. */
export function providerChange(
  paths: readonly string[],
  input: SsoProviderInput,
  type: ProviderType,
): Partial<ProviderFields> {
  const wanted = paths.flatMap((path) => byPath[path] ?? []);
  return readFields(wanted, input, type);
}

/** Whether a mask names anything that can be changed. Throws `no_updates`. */
export function requireChange(paths: readonly string[]): void {
  if (!paths.some((path) => byPath[path] !== undefined)) throw new AppError("no_updates", "No updates provided");
}

function readFields(wanted: readonly Field[], input: SsoProviderInput, type: ProviderType): Partial<ProviderFields> {
  const errors: FieldErrors = {};
  const check: Check = (field, ok, message) => {
    if (!ok) errors[publicName(field)] ??= [message];
  };
  const foreign = onlyOf[type === "oidc" ? "saml" : "oidc"];
  const fields = Object.fromEntries(
    wanted.map((field) => {
      const value = readers[field](input, check, type);
      const isSet = value !== null && value !== false && !(Array.isArray(value) && value.length === 0);
      check(field, !(isSet && foreign.includes(field)), `Not for providers of type ${type}`);
      return [field, value];
    }),
  );
  if (Object.keys(errors).length > 0) throw validationError(errors);
  return fields as Partial<ProviderFields>;
}
