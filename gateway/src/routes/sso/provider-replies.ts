import type {
  SamlCertificate,
  SamlMetadataReport,
  SsoAttempt,
  SsoPreset,
  SsoProvider,
} from "@muster/proto/muster/identity/v1/sso_provider_pb";
import { z } from "zod";
import { healthOrNull } from "../fields/health.ts";
import { timeOf, timeOrNull } from "../fields/schemas.ts";
import { certificate, type mapping, providerStatus, ssoProvider, type } from "./provider-fields.ts";

export function presetOf(preset: SsoPreset) {
  return {
    id: preset.id,
    type: type.parse(preset.type),
    name: preset.name,
    issuerTemplate: preset.issuerTemplate || null,
    ssoUrlTemplate: preset.ssoUrlTemplate || null,
    scopes: preset.scopes,
    attributeMapping: mappingOf(preset.attributeMapping),
  };
}

function mappingOf(message: SsoProvider["attributeMapping"]): z.input<typeof mapping> {
  const { email = "", name = "", firstName, lastName, groups } = message ?? {};
  const optional = Object.entries({ firstName, lastName, groups }).filter(([, named]) => named);
  return { email, name, ...Object.fromEntries(optional) };
}

export function certificateOf(message: SamlCertificate): z.input<typeof certificate> {
  return {
    pem: message.pem,
    fingerprint: message.fingerprint,
    notBefore: timeOf(message.notBefore),
    notAfter: timeOf(message.notAfter),
    source: certificate.shape.source.parse(message.source),
  };
}

export function reportOf(message: SamlMetadataReport | undefined) {
  if (!message) return null;
  return {
    added: message.added.map(certificateOf),
    missing: message.missing.map(certificateOf),
    omitted: message.omitted,
    differences: message.differences.map(({ field, current, found }) => ({ field, current, found })),
  };
}

export function signInAttemptOf(message: SsoAttempt | undefined) {
  if (!message) throw new Error("identity answered without an attempt");
  return {
    id: message.id,
    providerId: message.providerId,
    kind: z.enum(["login", "link"]).parse(message.kind),
    outcome: z.enum(["success", "failure"]).parse(message.outcome),
    step: message.step,
    reason: message.reason || null,
    detail: message.detail || null,
    email: message.email || null,
    ipAddress: message.ipAddress || null,
    userAgent: message.userAgent || null,
    requestId: message.requestId || null,
    createdAt: timeOf(message.createdAt),
  };
}

export function providerOf(message: SsoProvider | undefined): z.input<typeof ssoProvider> {
  if (!message) throw new Error("identity answered without a provider");
  const reason = ssoProvider.shape.enforcement.shape.reason.parse(message.enforcementReason || null);
  return {
    id: message.id,
    orgId: message.orgId || null,
    partnerId: message.partnerId || null,
    name: message.name,
    type: type.parse(message.type),
    status: providerStatus.parse(message.status),
    health: healthOrNull(message.health),
    preset: message.preset || null,
    issuer: message.issuer || null,
    clientId: message.clientId || null,
    hasClientSecret: message.hasClientSecret,
    scopes: message.scopes,
    attributeMapping: mappingOf(message.attributeMapping),
    autoProvision: message.autoProvision,
    defaultRoleId: message.defaultRoleId || null,
    allowedDomains: message.allowedDomains,
    enforceSSO: message.enforceSso,
    enforcement: { inForce: message.enforcementInForce, reason },
    trustIdpMfa: message.trustIdpMfa,
    authorizationUrl: message.authorizationUrl || null,
    tokenUrl: message.tokenUrl || null,
    userInfoUrl: message.userInfoUrl || null,
    jwksUrl: message.jwksUrl || null,
    samlEntityId: message.samlEntityId || null,
    samlSsoUrl: message.samlSsoUrl || null,
    samlCertificates: message.samlCertificates.map(certificateOf),
    samlMetadataUrl: message.samlMetadataUrl || null,
    samlMetadataAt: timeOrNull(message.samlMetadataAt),
    samlMetadataError: message.samlMetadataError || null,
    samlMetadataOmitted: message.samlMetadataOmitted,
    samlWantEncrypted: message.samlWantEncrypted,
    samlSignRequests: message.samlSignRequests,
    samlSpCertificate: message.samlSpCertificate || null,
    samlNextSpCertificate: message.samlNextSpCertificate || null,
    samlNextKeyAt: timeOrNull(message.samlNextKeyAt),
    subjectAttribute: message.subjectAttribute || null,
    callbackUrl: message.callbackUrl || null,
    samlAcsUrl: message.samlAcsUrl || null,
    samlSpMetadataUrl: message.samlSpMetadataUrl || null,
    createdBy: message.createdBy,
    createdAt: timeOf(message.createdAt),
    updatedAt: timeOf(message.updatedAt),
  };
}
