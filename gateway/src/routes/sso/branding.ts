import { z } from "zod";
import { type Route, route } from "../../route/route.ts";
import { branding, brandingOf } from "../fields/branding.ts";

const tag = "Single sign-on";

const text = (most: number) => z.string().max(most).nullish();
/** Of an image of 256 KiB as base64. */
const logoMax = 400_000;

const get = route({
  method: "GET",
  path: "/partners/me/login-branding",
  access: { auth: "session", scopes: ["partner"] },
  tag,
  summary: "Branding of the own partner's sign-in page",
  reply: branding,
  async handle({ rpc }, { services }) {
    return brandingOf((await services.branding.getLoginBranding({}, await rpc())).branding);
  },
});

const put = route({
  method: "PUT",
  path: "/partners/me/login-branding",
  access: { auth: "session", permission: "partner:policy", scopes: ["partner"] },
  audit: "sso.branding.update",
  auditResource: "login_branding",
  tag,
  summary: "Replace the branding; omitted fields are cleared",
  description: "Also reads `logoUrl` and `accentColor`.",
  aliases: { logoUrl: "logo_url", accentColor: "accent_color" },
  body: z.object({
    logo_url: text(logoMax),
    accent_color: text(7),
    headline: text(120),
  }),
  example: { logo_url: "https://acme.example/logo.png", accent_color: "#0a7c66", headline: "Welcome to Acme" },
  bodyLimitBytes: 512 * 1024,
  reply: branding,
  errors: ["scope_not_allowed"],
  async handle({ body, rpc }, { services }) {
    const wanted = {
      logoUrl: body.logo_url ?? "",
      accentColor: body.accent_color ?? "",
      headline: body.headline ?? "",
    };
    return brandingOf((await services.branding.putLoginBranding({ branding: wanted }, await rpc())).branding);
  },
});

export const brandingRoutes: readonly Route[] = [get, put];
