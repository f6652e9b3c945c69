import { EgressRefused } from "@muster/egress";
import { AppError, type CallContext, validationError } from "@muster/kit";
import { discover } from "../../clients/sso/discovery.ts";
import type { SsoDeps } from "../../deps.ts";
import { requireHeldPermissions } from "../../rules/delegation.ts";
import { isRoleOf, roleNotFound } from "../../rules/new-user.ts";
import { missingOf } from "../../rules/sso/endpoints.ts";
import { defaultScopes, type ProviderType } from "../../rules/sso/presets.ts";
import type { Owner, ProviderRow } from "../../rules/sso/provider.ts";
import type { Field, ProviderFields } from "../../rules/sso/provider-fields.ts";
import { findPrincipal } from "../../store/principals.ts";
import { findRole, type RoleRow } from "../../store/roles.ts";
import { clientSecretLocation } from "../../store/sealed-columns.ts";
import type { ProviderValues } from "../../store/sso/providers.ts";
import { putSaml } from "./prepare-saml.ts";

/** The provider as stored, or as it is to be stored. */
export type Subject = { id: string; type: ProviderType; owner: Owner; before: ProviderRow | null };

/** Fields whose change makes another connection: a proof of the old connection proves nothing about the new one. */
const connection: readonly Field[] = [
  "issuer",
  "clientId",
  "clientSecret",
  "mapping",
  "allowedDomains",
  "authorizationUrl",
  "tokenUrl",
  "userInfoUrl",
  "jwksUrl",
  "samlEntityId",
  "samlSsoUrl",
  "samlCertificates",
  "samlMetadataUrl",
  "samlMetadataXml",
  "samlWantEncrypted",
  "subjectAttribute",
];

const urls = {
  authorizationUrl: "authorization_url",
  tokenUrl: "token_url",
  userInfoUrl: "user_info_url",
  jwksUrl: "jwks_url",
} as const;

/**
 * The columns of a provider after a change, with a new issuer discovered and the default role checked by what the
 * caller holds now. Nothing is written. Throws `validation_failed`, `role_not_found`, `delegation_denied`,
 * `sso_discovery_failed`, and `sso_incomplete_provider` when an active provider would lack something.
 */
export async function prepareProvider(
  deps: SsoDeps,
  context: CallContext,
  subject: Subject,
  fields: Partial<ProviderFields>,
): Promise<ProviderValues> {
  const values = plainValues(subject, fields);
  if (fields.clientSecret !== undefined) {
    const { clientSecret } = fields;
    const location = clientSecretLocation(subject.id);
    values.client_secret_sealed = clientSecret === null ? null : deps.sealing.seal(Buffer.from(clientSecret), location);
  }
  if (fields.defaultRoleId !== undefined) {
    values.default_role_id = fields.defaultRoleId;
    values.default_role_by = fields.defaultRoleId === null ? null : context.caller.actor.id;
    if (fields.defaultRoleId !== null) await requireDefaultRole(deps, context, subject.owner, fields.defaultRoleId);
  }
  validateUrls(deps, fields);
  await putIssuer(deps, subject, fields, values);
  if (subject.type === "saml") await putSaml(deps, subject.id, fields, values);
  if (connection.some((field) => fields[field] !== undefined)) values.proven_at = null;
  const missing = missingOf({ ...values, type: subject.type }, deps.now());
  if (subject.before?.status === "active" && missing.length > 0) throw incomplete(missing);
  return values;
}

export const incomplete = (missing: readonly string[]) =>
  new AppError("sso_incomplete_provider", "The provider lacks fields that sign-in needs", { facts: { missing } });

function plainValues({ type, before }: Subject, fields: Partial<ProviderFields>): ProviderValues {
  const values = before === null ? empty(type) : columnsOf(before);
  const put = <F extends Field, C extends keyof ProviderValues>(field: F, column: C) => {
    if (fields[field] !== undefined) values[column] = fields[field] as unknown as ProviderValues[C];
  };
  put("name", "name");
  put("preset", "preset");
  put("clientId", "client_id");
  put("scopes", "scopes");
  put("mapping", "attribute_mapping");
  put("autoProvision", "auto_provision");
  put("allowedDomains", "allowed_domains");
  put("enforceSso", "enforce_sso");
  put("trustIdpMfa", "trust_idp_mfa");
  return values;
}

function columnsOf(row: ProviderRow): ProviderValues {
  const { id, partner_id, org_id, type, status, generation, created_by, created_at, updated_at, ...own } = row;
  // A renewal of our key goes on whatever else is changed.
  const { saml_next_key_sealed, saml_next_certificate, saml_next_key_at, ...values } = own;
  return values;
}

const empty = (type: ProviderType): ProviderValues => ({
  name: "",
  preset: null,
  issuer: null,
  client_id: null,
  client_secret_sealed: null,
  scopes: defaultScopes[type],
  attribute_mapping: null,
  auto_provision: true,
  default_role_id: null,
  default_role_by: null,
  allowed_domains: [],
  enforce_sso: false,
  proven_at: null,
  trust_idp_mfa: false,
  authorization_url: null,
  token_url: null,
  user_info_url: null,
  jwks_url: null,
  discovered: null,
  saml_entity_id: null,
  saml_sso_url: null,
  saml_certificates: [],
  saml_metadata_url: null,
  saml_metadata_at: null,
  saml_metadata_error: null,
  saml_metadata_omitted: [],
  saml_want_encrypted: false,
  subject_attribute: null,
  saml_sign_requests: false,
  saml_key_sealed: null,
  saml_sp_certificate: null,
});

/** A role that the caller sees, of this scope. Throws `role_not_found`, `validation_failed`. */
export async function seenRole(
  { db }: Pick<SsoDeps, "db">,
  context: CallContext,
  id: string,
  scope: "partner" | "organization",
  field = "defaultRoleId",
): Promise<RoleRow> {
  const role = await findRole(db, context, id);
  if (!role) throw roleNotFound();
  if (role.scope !== scope) throw validationError({ [field]: [`Must be a role of scope ${scope}`] });
  return role;
}

/**
 * A role of the owner's own scope, of which the caller holds every permission now. Throws as seenRole, and
 * `delegation_denied`.
 */
export async function requireDefaultRole(
  deps: Pick<SsoDeps, "db">,
  context: CallContext,
  owner: Owner,
  id: string,
  field = "defaultRoleId",
): Promise<void> {
  const role = await seenRole(deps, context, id, owner.orgId === null ? "partner" : "organization", field);
  if (!isRoleOf({ partnerId: role.partner_id, orgId: role.org_id }, owner)) throw roleNotFound();
  const user = await findPrincipal(deps.db, context.caller.actor.id);
  requireHeldPermissions({ permissions: user?.status === "active" ? user.permissions : [] }, role.permissions);
}

/** URLs set by hand are https and not local; their resolved addresses are checked at each sign-in. */
function validateUrls({ checkUrl }: SsoDeps, fields: Partial<ProviderFields>): void {
  for (const field of [
    ...(Object.keys(urls) as (keyof typeof urls)[]),
    "issuer",
    "samlSsoUrl",
    "samlMetadataUrl",
  ] as const) {
    const url = fields[field];
    if (url == null) continue;
    try {
      checkUrl(url);
    } catch (error) {
      if (!(error instanceof EgressRefused)) throw error;
      const { code, message, facts } = validationError({ [field]: [error.message] });
      throw new AppError(code, message, { facts: { ...facts, reason: error.reason }, cause: error });
    }
  }
}

/** A new issuer is discovered before anything is written, and endpoints set by hand for the old one are cleared. */
async function putIssuer(
  { egress }: SsoDeps,
  { before }: Subject,
  fields: Partial<ProviderFields>,
  values: ProviderValues,
): Promise<void> {
  const { issuer } = fields;
  if (issuer !== undefined && issuer !== (before?.issuer ?? null)) {
    values.issuer = issuer;
    values.discovered = issuer === null ? null : await discover(egress, issuer);
    for (const column of Object.values(urls)) values[column] = null;
  }
  for (const [field, column] of Object.entries(urls) as [keyof typeof urls, (typeof urls)[keyof typeof urls]][]) {
    const url = fields[field];
    if (url !== undefined) values[column] = url;
  }
}
