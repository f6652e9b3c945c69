import { z } from "zod";
import { healthOut } from "../fields/health.ts";
import { id, idOut, nameIn, timeOut } from "../fields/schemas.ts";

export const type = z.enum(["oidc", "saml"]);
export const providerStatus = z.enum(["inactive", "testing", "active"]);

export const mapping = z
  .object({
    email: z.string().meta({ description: "Name of the claim or attribute." }),
    name: z.string(),
    firstName: z.string().optional().meta({ description: "Used with `lastName` when there is no name." }),
    lastName: z.string().optional(),
    groups: z.string().optional(),
  })
  .meta({ id: "AttributeMapping" });

export const certificate = z
  .object({
    pem: z.string(),
    fingerprint: z.string().meta({ description: "SHA-256 of the certificate, in hex." }),
    notBefore: timeOut,
    notAfter: timeOut,
    source: z.enum(["manual", "metadata"]),
  })
  .meta({ id: "SamlCertificate" });

export const ssoProvider = z
  .object({
    id: idOut,
    orgId: idOut.nullable().meta({ description: "Organization of the provider; null for a partner's own." }),
    partnerId: idOut.nullable().meta({ description: "Partner of the provider, for a partner's own only." }),
    name: z.string(),
    type,
    status: providerStatus.meta({ description: "Only `active` providers are used for sign-in." }),
    health: healthOut,
    preset: z.string().nullable(),
    issuer: z.string().nullable(),
    clientId: z.string().nullable(),
    hasClientSecret: z.boolean(),
    scopes: z.string(),
    attributeMapping: mapping,
    autoProvision: z.boolean(),
    defaultRoleId: idOut.nullable(),
    allowedDomains: z.string().meta({ description: "Domains of e-mail addresses, comma-separated; empty for all." }),
    enforceSSO: z.boolean(),
    enforcement: z
      .object({
        inForce: z.boolean(),
        reason: z.enum(["not_wanted", "not_active", "not_proven"]).nullable(),
      })
      .meta({
        description:
          "`enforceSSO` takes effect when the provider is active and an administrator has signed in through it.",
      }),
    trustIdpMfa: z.boolean(),
    authorizationUrl: z.string().nullable(),
    tokenUrl: z.string().nullable(),
    userInfoUrl: z.string().nullable(),
    jwksUrl: z.string().nullable(),
    samlEntityId: z.string().nullable(),
    samlSsoUrl: z.string().nullable(),
    samlCertificates: z.array(certificate),
    samlMetadataUrl: z.string().nullable(),
    samlMetadataAt: timeOut
      .nullable()
      .meta({ description: "Time at which the URL's metadata was last read; it is read daily." }),
    samlMetadataError: z.string().nullable().meta({ description: "Reason why the last read failed." }),
    samlMetadataOmitted: z.array(z.string()).meta({
      description: "Parts of the metadata that sign-in does not use, such as a certificate that cannot be read.",
    }),
    samlWantEncrypted: z.boolean(),
    samlSignRequests: z.boolean(),
    subjectAttribute: z.string().nullable(),
    samlSpCertificate: z.string().nullable().meta({ description: "Our certificate for this provider, PEM." }),
    samlNextSpCertificate: z
      .string()
      .nullable()
      .meta({ description: "Certificate of our next key; both are in our metadata until it takes over." }),
    samlNextKeyAt: timeOut.nullable().meta({ description: "Time at which our next key takes over." }),
    callbackUrl: z
      .string()
      .nullable()
      .meta({ description: "URL to register at the identity provider (OpenID Connect)." }),
    samlAcsUrl: z.string().nullable().meta({ description: "URL to register at the identity provider (SAML)." }),
    samlSpMetadataUrl: z
      .string()
      .nullable()
      .meta({ description: "Our metadata for this provider; its address is also our entity id." }),
    createdBy: idOut,
    createdAt: timeOut,
    updatedAt: timeOut,
  })
  .meta({ id: "SsoProvider" });

const url = () => z.string().trim().max(500).nullish();
/** Of metadata of 1 MiB, its quotes and line breaks escaped. */
export const providerBodyLimitBytes = 2.5 * 1024 * 1024;
const claim = () => z.string().trim().min(1).max(255);

export const fields = {
  preset: z.string().max(50).nullish().meta({ description: "Fills in scopes and mapping; see GET /sso/presets." }),
  issuer: url().meta({ description: "URL of the issuer, discovered before anything is written." }),
  clientId: z.string().trim().max(500).nullish(),
  clientSecret: z
    .string()
    .max(1_000)
    .nullish()
    .meta({ description: "Kept sealed and never returned; null removes it." }),
  scopes: z.string().max(500).nullish().meta({ description: "Scopes to request, separated by spaces." }),
  attributeMapping: z
    .object({
      email: claim(),
      name: claim(),
      firstName: claim().nullish(),
      lastName: claim().nullish(),
      groups: claim().nullish(),
    })
    .nullish(),
  autoProvision: z.boolean().optional(),
  defaultRoleId: id.nullish(),
  allowedDomains: z.string().max(10_000).nullish(),
  enforceSSO: z.boolean().optional(),
  trustIdpMfa: z
    .boolean()
    .optional()
    .meta({ description: "A second factor at the identity provider counts as a completed challenge here." }),
  authorizationUrl: url(),
  tokenUrl: url(),
  userInfoUrl: url(),
  jwksUrl: url(),
  samlEntityId: z.string().trim().max(1_024).nullish(),
  samlSsoUrl: url(),
  samlCertificates: z
    .array(z.string().max(16_384))
    .max(10)
    .nullish()
    .meta({ description: "Certificates of the identity provider, as PEM." }),
  samlMetadataUrl: url().meta({
    description: "URL of the metadata, read before anything is written, and daily from then on.",
  }),
  samlMetadataXml: z
    .string()
    .max(1_048_576)
    .nullish()
    .meta({ description: "Fills in entity id, SSO URL and certificates where the body does not name them." }),
  samlWantEncrypted: z
    .boolean()
    .optional()
    .meta({ description: "Assertions must be encrypted for our certificate: RSA-OAEP with AES-GCM." }),
  samlSignRequests: z.boolean().optional(),
  subjectAttribute: z.string().trim().max(255).nullish().meta({
    description:
      "Name of an attribute that identifies the user for good, in place of the NameID (SAML), such as `urn:oasis:names:tc:SAML:attribute:subject-id`. A change removes the links of users.",
  }),
};
export const changes = z.object({ name: nameIn.optional(), ...fields });

export const providerPaths = {
  name: "name",
  preset: "preset",
  issuer: "issuer",
  clientId: "client_id",
  clientSecret: "client_secret",
  scopes: "scopes",
  attributeMapping: "attribute_mapping",
  autoProvision: "auto_provision",
  defaultRoleId: "default_role_id",
  allowedDomains: "allowed_domains",
  enforceSSO: "enforce_sso",
  trustIdpMfa: "trust_idp_mfa",
  authorizationUrl: "authorization_url",
  tokenUrl: "token_url",
  userInfoUrl: "user_info_url",
  jwksUrl: "jwks_url",
  samlEntityId: "saml_entity_id",
  samlSsoUrl: "saml_sso_url",
  samlCertificates: "saml_certificates",
  samlMetadataUrl: "saml_metadata_url",
  samlMetadataXml: "saml_metadata_xml",
  samlWantEncrypted: "saml_want_encrypted",
  samlSignRequests: "saml_sign_requests",
  subjectAttribute: "subject_attribute",
} as const;

/** A body as identity accepts it: absent and null become empty. */
export function inputOf(body: z.output<typeof changes>) {
  const { attributeMapping: mapping, samlCertificates, enforceSSO, autoProvision, ...rest } = body;
  const texts = Object.fromEntries(Object.entries(rest).map(([key, value]) => [key, value ?? undefined]));
  return {
    ...texts,
    ...(autoProvision === undefined ? {} : { autoProvision }),
    enforceSso: enforceSSO ?? false,
    samlCertificates: samlCertificates ?? [],
    ...(mapping
      ? {
          attributeMapping: {
            email: mapping.email,
            name: mapping.name,
            firstName: mapping.firstName ?? "",
            lastName: mapping.lastName ?? "",
            groups: mapping.groups ?? "",
          },
        }
      : {}),
  };
}
