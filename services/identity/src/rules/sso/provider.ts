import type { AttributeMapping, ProviderType } from "./presets.ts";

/** What discovery found, as far as sign-in needs it. */
export type Discovered = {
  authorizationUrl: string;
  tokenUrl: string;
  userInfoUrl: string | null;
  jwksUrl: string;
  tokenAuthMethods: string[];
  signingAlgorithms: string[];
  /** The provider names itself in its callbacks (RFC 9207). */
  sendsIss: boolean;
};

export type StoredCertificate = {
  pem: string;
  fingerprint: string;
  notBefore: string;
  notAfter: string;
  source: "manual" | "metadata";
  /** When the metadata stopped naming it. */
  goneAt?: string;
};

export type ProviderRow = {
  id: string;
  partner_id: string;
  org_id: string | null;
  name: string;
  type: ProviderType;
  status: "inactive" | "testing" | "active";
  preset: string | null;
  issuer: string | null;
  client_id: string | null;
  client_secret_sealed: Buffer | null;
  scopes: string;
  attribute_mapping: AttributeMapping | null;
  auto_provision: boolean;
  default_role_id: string | null;
  default_role_by: string | null;
  allowed_domains: string[];
  enforce_sso: boolean;
  proven_at: Date | null;
  trust_idp_mfa: boolean;
  authorization_url: string | null;
  token_url: string | null;
  user_info_url: string | null;
  jwks_url: string | null;
  discovered: Discovered | null;
  saml_entity_id: string | null;
  saml_sso_url: string | null;
  saml_certificates: StoredCertificate[];
  saml_metadata_url: string | null;
  saml_metadata_at: Date | null;
  /** Why the metadata could not be read the last time. */
  saml_metadata_error: string | null;
  /** What the metadata holds and sign-in does not use. */
  saml_metadata_omitted: string[];
  saml_want_encrypted: boolean;
  /** Attribute that identifies users instead of the NameID. */
  subject_attribute: string | null;
  saml_sign_requests: boolean;
  saml_key_sealed: Buffer | null;
  saml_sp_certificate: string | null;
  /** Our next key, which replaces that key at a time; all three or none. */
  saml_next_key_sealed: Buffer | null;
  saml_next_certificate: string | null;
  saml_next_key_at: Date | null;
  /** Moves on with what ends login flows in flight: they may finish at the generation at which they began alone. */
  generation: number;
  created_by: string;
  created_at: Date;
  updated_at: Date;
};

/**
 * Whether users' external ids now come from elsewhere: a `sub`, a NameID or a value of one attribute identifies a user
 * at one issuer only, and none of them stands for another.
 */
export const hasOtherSubjects = (before: ProviderRow, after: ProviderRow): boolean =>
  before.issuer !== after.issuer ||
  before.saml_entity_id !== after.saml_entity_id ||
  before.subject_attribute !== after.subject_attribute;

/**
 * Whether nothing of a provider has changed between two reads: people move its generation on, metadata and the end of a
 * grace period do not.
 */
export const isSameVersion = (one: ProviderRow, other: ProviderRow): boolean =>
  one.generation === other.generation &&
  one.saml_metadata_at?.getTime() === other.saml_metadata_at?.getTime() &&
  one.saml_sp_certificate === other.saml_sp_certificate;

/** Where a provider belongs: an organization, or with null its partner. */
export type Owner = { partnerId: string; orgId: string | null };

/** Addresses of ours that are registered at identity providers. */
export type OwnAddresses = { callbackUrl: string; acsUrl: string; samlMetadataUrl(providerId: string): string };

/** The tenant as which a login flow through a provider waits for the database's connections. */
export const tenantOf = ({ partner_id, org_id }: Pick<ProviderRow, "partner_id" | "org_id">) => org_id ?? partner_id;
