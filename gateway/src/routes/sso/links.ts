import { cookieLine } from "@muster/kit";
import { z } from "zod";
import { Answered, Rendered } from "../../route/reply.ts";
import { type Route, route } from "../../route/route.ts";
import { id, idOut, success } from "../fields/schemas.ts";

const tag = "Single sign-on";
const params = z.object({ providerId: id });
const started = z.object({ authUrl: z.string().meta({ description: "URL to which the browser is redirected." }) });

const options = route({
  method: "GET",
  path: "/sso/link/options",
  access: { auth: "session" },
  tag,
  summary: "Providers to which the caller's own account can be linked",
  noStore: true,
  reply: z.object({
    data: z.array(z.object({ id: idOut, name: z.string(), type: z.enum(["oidc", "saml"]), linked: z.boolean() })),
  }),
  errors: ["mfa_required"],
  async handle({ rpc }, { services }) {
    const reply = await services.ssoLinks.listSsoLinks({}, await rpc());
    const type = z.enum(["oidc", "saml"]);
    return { data: reply.options.map((option) => ({ ...pick(option), type: type.parse(option.type) })) };
  },
});

const start = route({
  method: "POST",
  path: "/sso/link/start/:providerId",
  audit: "sso.identity.link",
  auditResource: "user",
  access: { auth: "session" },
  deadline: "report",
  tag,
  summary: "Start to link the caller's own account to a provider",
  description: "Ends at `/profile?ssoLinked=1` or `/profile?ssoLinkError=<reason>` of the app.",
  params,
  noStore: true,
  answers: {
    200: { description: "Success", headers: { "Set-Cookie": "Binds the login flow to this browser." } },
  },
  reply: started,
  errors: ["sso_provider_not_found", "sso_incomplete_provider", "sso_discovery_failed", "mfa_required", "rate_limited"],
  async handle({ params: { providerId }, rpc }, { services }) {
    const { location, setCookie } = await services.ssoLinks.startSsoLink({ providerId }, await rpc());
    return new Answered(200, cookieLine(setCookie), new Rendered(JSON.stringify({ authUrl: location })));
  },
});

const remove = route({
  method: "DELETE",
  path: "/sso/link/:providerId",
  audit: "sso.identity.unlink",
  auditResource: "user",
  access: { auth: "session" },
  tag,
  summary: "Remove the link of the caller's own account to a provider",
  params,
  noStore: true,
  reply: success,
  errors: ["sso_provider_not_found", "last_sign_in_method", "mfa_required"],
  async handle({ params: { providerId }, rpc }, { services }) {
    await services.ssoLinks.removeSsoLink({ providerId }, await rpc());
    return { success: true as const };
  },
});

const pick = ({ id: providerId, name, linked }: { id: string; name: string; linked: boolean }) => ({
  id: providerId,
  name,
  linked,
});

export const ssoLinkRoutes: readonly Route[] = [options, start, remove];
