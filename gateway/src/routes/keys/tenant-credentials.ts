import type { RevokeTenantCredentialsResponse } from "@muster/proto/muster/identity/v1/api_key_pb";
import { z } from "zod";
import { type Route, route } from "../../route/route.ts";
import { idParams } from "../fields/schemas.ts";

const count = (of: string) => z.int().describe(`Number of ${of} that this call ended.`);

const revoked = z
  .object({
    apiKeys: count("API keys, those of service principals among them,"),
    servicePrincipals: count("service principals"),
    enrollmentKeys: count("enrollment keys"),
    sessions: count("sessions of its users"),
    directoryTokens: count("tokens of its directories"),
  })
  .meta({ id: "RevokedCredentials" });

const description =
  "For an emergency: revokes every API key, disables every service principal, ends every enrollment key, every token of a directory " +
  "and the sessions of its users. When it answers, none of them is admitted anywhere. Agents keep reporting.";

const ofOrganization = route({
  method: "POST",
  path: "/orgs/organizations/:id/revoke-credentials",
  audit: "organization.credentials.revoke",
  load: "vital",
  access: { auth: "session", permission: "organizations:write", mfa: true, scopes: ["partner", "system"] },
  tag: "Organizations",
  summary: "Revoke every credential of an organization",
  description,
  params: idParams,
  reply: revoked,
  errors: ["organization_not_found", "site_restricted"],
  async handle({ params, rpc }, { services }) {
    const tenant = { case: "orgId", value: params.id } as const;
    return countsOf(await services.apiKeys.revokeTenantCredentials({ tenant }, await rpc()));
  },
});

const ofPartner = route({
  method: "POST",
  path: "/orgs/partners/:id/revoke-credentials",
  audit: "partner.credentials.revoke",
  load: "vital",
  access: { auth: "session", permission: "organizations:write", mfa: true, scopes: ["system"] },
  tag: "Partners",
  summary: "Revoke every credential of a partner and its organizations",
  description,
  params: idParams,
  reply: revoked,
  errors: ["partner_not_found"],
  async handle({ params, rpc }, { services }) {
    const tenant = { case: "partnerId", value: params.id } as const;
    return countsOf(await services.apiKeys.revokeTenantCredentials({ tenant }, await rpc()));
  },
});

function countsOf(ended: RevokeTenantCredentialsResponse): z.input<typeof revoked> {
  const { apiKeys, servicePrincipals, enrollmentKeys, sessions, directoryTokens } = ended;
  return { apiKeys, servicePrincipals, enrollmentKeys, sessions, directoryTokens };
}

export const tenantCredentialRoutes: readonly Route[] = [ofOrganization, ofPartner];
