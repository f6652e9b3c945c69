import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { Health } from "@muster/kit";
import {
  type SamlCertificate,
  SamlCertificateSchema,
  type SsoAttempt,
  SsoAttemptSchema,
  type SsoProvider,
  SsoProviderSchema,
} from "@muster/proto/muster/identity/v1/sso_provider_pb";
import { endpointsOf } from "../rules/sso/endpoints.ts";
import { enforcementOf } from "../rules/sso/enforcement.ts";
import { type AttributeMapping, defaultMapping } from "../rules/sso/presets.ts";
import type { OwnAddresses, ProviderRow, StoredCertificate } from "../rules/sso/provider.ts";
import type { AttemptRow } from "../store/sso/attempts.ts";

/** A provider as callers see it: never its secret. */
export function providerMessage(row: ProviderRow, own: OwnAddresses, health: Health): SsoProvider {
  const endpoints = endpointsOf(row);
  const { inForce, reason } = enforcementOf({
    enforceSso: row.enforce_sso,
    status: row.status,
    provenAt: row.proven_at,
  });
  return create(SsoProviderSchema, {
    id: row.id,
    orgId: row.org_id ?? "",
    partnerId: row.org_id === null ? row.partner_id : "",
    name: row.name,
    type: row.type,
    status: row.status,
    preset: row.preset ?? "",
    issuer: row.issuer ?? "",
    clientId: row.client_id ?? "",
    hasClientSecret: row.client_secret_sealed !== null,
    scopes: row.scopes,
    attributeMapping: mappingMessage(row.attribute_mapping ?? defaultMapping[row.type]),
    autoProvision: row.auto_provision,
    defaultRoleId: row.default_role_id ?? "",
    allowedDomains: row.allowed_domains.join(", "),
    enforceSso: row.enforce_sso,
    enforcementInForce: inForce,
    enforcementReason: reason ?? "",
    trustIdpMfa: row.trust_idp_mfa,
    authorizationUrl: row.authorization_url ?? endpoints?.authorizationUrl ?? "",
    tokenUrl: row.token_url ?? endpoints?.tokenUrl ?? "",
    userInfoUrl: row.user_info_url ?? endpoints?.userInfoUrl ?? "",
    jwksUrl: row.jwks_url ?? endpoints?.jwksUrl ?? "",
    samlEntityId: row.saml_entity_id ?? "",
    samlSsoUrl: row.saml_sso_url ?? "",
    samlCertificates: row.saml_certificates.map(certificateMessage),
    samlMetadataUrl: row.saml_metadata_url ?? "",
    samlWantEncrypted: row.saml_want_encrypted,
    createdBy: row.created_by,
    createdAt: timestampFromDate(row.created_at),
    updatedAt: timestampFromDate(row.updated_at),
    callbackUrl: row.type === "oidc" ? own.callbackUrl : "",
    samlAcsUrl: row.type === "saml" ? own.acsUrl : "",
    samlSignRequests: row.saml_sign_requests,
    samlMetadataAt: row.saml_metadata_at ? timestampFromDate(row.saml_metadata_at) : undefined,
    samlMetadataError: row.saml_metadata_error ?? "",
    samlSpCertificate: row.saml_sp_certificate ?? "",
    samlNextSpCertificate: row.saml_next_certificate ?? "",
    samlNextKeyAt: row.saml_next_key_at ? timestampFromDate(row.saml_next_key_at) : undefined,
    subjectAttribute: row.subject_attribute ?? "",
    samlMetadataOmitted: row.saml_metadata_omitted,
    samlSpMetadataUrl: row.type === "saml" ? own.samlMetadataUrl(row.id) : "",
    health,
  });
}

export const mappingMessage = ({ email, name, firstName, lastName, groups }: AttributeMapping) => ({
  email,
  name,
  firstName: firstName ?? "",
  lastName: lastName ?? "",
  groups: groups ?? "",
});

export function certificateMessage({
  pem,
  fingerprint,
  notBefore,
  notAfter,
  source,
}: StoredCertificate): SamlCertificate {
  return create(SamlCertificateSchema, {
    pem,
    fingerprint,
    notBefore: timestampFromDate(new Date(notBefore)),
    notAfter: timestampFromDate(new Date(notAfter)),
    source,
  });
}

export function attemptMessage(row: AttemptRow): SsoAttempt {
  return create(SsoAttemptSchema, {
    id: row.id,
    kind: row.kind,
    outcome: row.outcome,
    step: row.step,
    reason: row.reason ?? "",
    detail: row.detail ?? "",
    email: row.email ?? "",
    ipAddress: row.address ?? "",
    userAgent: row.user_agent ?? "",
    requestId: row.request_id ?? "",
    createdAt: timestampFromDate(row.created_at),
    providerId: row.provider_id,
  });
}
