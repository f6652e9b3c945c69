import type {
  GetSignInPolicyResponse,
  PutSignInPolicyResponse,
} from "@muster/proto/muster/identity/v1/sign_in_policy_pb";
import { z } from "zod";
import { type Route, route } from "../../route/route.ts";
import { idParams } from "../fields/schemas.ts";

const tag = "Users";
const ofOrganization = "/orgs/organizations/:id/sign-in-policy";
const ofPartner = "/orgs/partners/me/sign-in-policy";

const description =
  "Users without a second factor can do nothing after their sign-in but enroll one: other requests are refused with " +
  "`mfa_required`. Sessions whose identity provider vouches for a second factor have one. API keys are not concerned.";

const requireSecondFactor = z.boolean().meta({
  description: "Every session needs a completed second factor.",
});
const body = z.object({ requireSecondFactor });
const example = { requireSecondFactor: true };
const policy = z
  .object({
    requireSecondFactor,
    effective: z
      .object({ requireSecondFactor: z.boolean() })
      .meta({ description: "What counts: also what the partner requires, of users of its organizations, too." }),
  })
  .meta({ id: "SignInPolicy" });

const getOrganization = route({
  method: "GET",
  path: ofOrganization,
  access: { auth: "session", permission: "organizations:read", keyScopes: ["organizations:read"] },
  tag,
  summary: "What an organization requires of its users' sign-ins",
  description,
  params: idParams,
  reply: policy,
  errors: ["organization_not_found"],
  handle: async ({ params, rpc }, { services }) =>
    policyOf(await services.signInPolicies.getSignInPolicy({ orgId: params.id }, await rpc())),
});

const putOrganization = route({
  method: "PUT",
  path: ofOrganization,
  access: { auth: "session", permission: "organizations:write", mfa: true },
  audit: "user.sign_in_policy.update",
  auditResource: "organization",
  tag,
  summary: "Require a second factor of an organization's users",
  description: `${description} Counts for existing sessions, too, before the reply is sent.`,
  params: idParams,
  body,
  example,
  reply: policy,
  errors: ["organization_not_found", "site_restricted"],
  async handle({ params, body: { requireSecondFactor }, rpc }, { services }) {
    const wanted = { orgId: params.id, policy: { requireSecondFactor } };
    return policyOf(await services.signInPolicies.putSignInPolicy(wanted, await rpc()));
  },
});

const getPartner = route({
  method: "GET",
  path: ofPartner,
  access: { auth: "session", permission: "organizations:read", scopes: ["partner"] },
  tag,
  summary: "What the own partner requires of sign-ins",
  description,
  reply: policy,
  handle: async ({ rpc }, { services }) => policyOf(await services.signInPolicies.getSignInPolicy({}, await rpc())),
});

const putPartner = route({
  method: "PUT",
  path: ofPartner,
  access: { auth: "session", permission: "partner:policy", mfa: true, scopes: ["partner"] },
  audit: "user.sign_in_policy.update",
  auditResource: "partner",
  tag,
  summary: "Require a second factor of all users of the own partner and its organizations",
  description: `${description} Needs access to all organizations. Counts for existing sessions, too, before the reply is sent.`,
  body,
  example,
  reply: policy,
  errors: ["scope_not_allowed", "site_restricted"],
  async handle({ body: { requireSecondFactor }, rpc }, { services }) {
    return policyOf(await services.signInPolicies.putSignInPolicy({ policy: { requireSecondFactor } }, await rpc()));
  },
});

function policyOf({ own, effective }: GetSignInPolicyResponse | PutSignInPolicyResponse): z.input<typeof policy> {
  if (!own || !effective) throw new Error("identity answered without a policy");
  const { requireSecondFactor } = effective;
  return { requireSecondFactor: own.requireSecondFactor, effective: { requireSecondFactor } };
}

export const signInPolicyRoutes: readonly Route[] = [getOrganization, putOrganization, getPartner, putPartner];
