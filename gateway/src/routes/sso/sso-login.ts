import { cookieLine } from "@muster/kit";
import { z } from "zod";
import type { PublicCode } from "../../errors.ts";
import { publicError } from "../../http/public-error.ts";
import { checkOrigin, cookieAnswer, sessionIn, withTokens } from "../../http/session-cookie.ts";
import type { Deps } from "../../route/deps.ts";
import { Rendered, redirect } from "../../route/reply.ts";
import { noBody, type Route, route } from "../../route/route.ts";
import { branding, brandingOf } from "../fields/branding.ts";
import { id, idOut } from "../fields/schemas.ts";
import { signedIn, signedInOf } from "../sign-in/auth.ts";

const tag = "Single sign-on";

/**
 * Unauthenticated browser requests: never shed, limited by address, not cached, and without a Referer to the next page.
 */
const open = {
  access: { auth: "none" },
  load: "vital",
  deadline: "report",
  perAddressPerMinute: "sso",
  noStore: true,
  noReferrer: true,
  tag,
} as const;

const stateCookie = "service_sso_state";

/** The same sign-in may succeed a little later. */
const busyCodes: ReadonlySet<PublicCode> = new Set(["rate_limited", "overloaded", "request_timeout"]);
/** A failure on our side; every other refusal is of what the browser brought. */
const ownFailures: ReadonlySet<PublicCode> = new Set(["internal", "unavailable", "deadline_exceeded", "cancelled"]);

/** Where a browser goes whose callback or response was refused before identity saw it, or could not be checked. */
function failedPage({ appUrl }: Pick<Deps, "appUrl">, code: PublicCode): string {
  const reason = busyCodes.has(code) ? "busy" : ownFailures.has(code) ? "internal" : "invalid_callback";
  return `${appUrl}/login?error=sso_error&reason=${reason}`;
}

/** A query from another site: a parameter that is not text, or too long, counts as absent. */
const anyText = (most: number) => z.string().max(most).catch("").default("");

const orgParams = z.object({ orgId: id });

const check = route({
  ...open,
  method: "GET",
  path: "/sso/check/:orgId",
  summary: "Sign-in options of an organization",
  description: "Organizations that do not exist, are deleted or have no provider get the same reply.",
  params: orgParams,
  reply: z
    .object({
      ssoEnabled: z.boolean(),
      provider: z.object({ id: idOut, name: z.string(), type: z.enum(["oidc", "saml"]) }).nullable(),
      enforceSSO: z.boolean(),
      loginUrl: z.string().nullable().meta({ description: "URL at which a browser starts to sign in." }),
    })
    .meta({ id: "SsoCheck" }),
  async handle({ params, rpc }, { services, publicUrl }) {
    const reply = await services.ssoLogins.checkSso(params, await rpc());
    if (reply.providerId === "") return { ssoEnabled: false, provider: null, enforceSSO: false, loginUrl: null };
    const type = z.enum(["oidc", "saml"]).parse(reply.providerType);
    return {
      ssoEnabled: true,
      provider: { id: reply.providerId, name: reply.providerName, type },
      enforceSSO: reply.enforced,
      loginUrl: `${publicUrl}/api/v1/sso/login/${params.orgId}`,
    };
  },
});

const find = route({
  ...open,
  method: "POST",
  path: "/sso/find",
  summary: "Sign-in options of an e-mail address",
  description:
    "The provider of the organization or partner that has verified the address's domain; the reply reveals nothing of the account. All other domains " +
    "are answered alike.",
  body: z.object({ email: z.string().trim().min(1).max(255) }),
  example: { email: "ada@acme.example" },
  reply: z
    .object({
      providerName: z.string().nullable(),
      enforceSSO: z.boolean(),
      loginUrl: z.string().nullable().meta({ description: "URL at which a browser starts to sign in." }),
    })
    .meta({ id: "SsoOfEmail" }),
  async handle({ body, rpc }, { services, publicUrl }) {
    const { providerName, orgId, partnerId, enforced } = await services.ssoLogins.findSso(body, await rpc());
    if (providerName === "") return { providerName: null, enforceSSO: false, loginUrl: null };
    const tenant = orgId === "" ? `partner/${partnerId}` : orgId;
    return { providerName, enforceSSO: enforced, loginUrl: `${publicUrl}/api/v1/sso/login/${tenant}` };
  },
});

const login = {
  ...open,
  method: "GET",
  query: z.object({
    redirect: anyText(500).meta({ description: "Path of the app to open afterwards; `/` when it is invalid." }),
  }),
  status: 302,
  answers: {
    302: {
      description: "To the identity provider",
      headers: { Location: "URL of the identity provider.", "Set-Cookie": "Binds the sign-in to this browser." },
    },
  },
  reply: noBody,
  errors: ["sso_not_configured", "sso_incomplete_provider", "sso_discovery_failed", "rate_limited"],
} as const;

const loginOrganization = route({
  ...login,
  path: "/sso/login/:orgId",
  summary: "Start to sign in through an organization's provider",
  params: orgParams,
  async handle({ params, query, rpc }, { services }) {
    const wanted = { orgId: params.orgId, redirect: query.redirect };
    const started = await services.ssoLogins.beginSsoLogin(wanted, await rpc());
    return redirect(302, started.location, cookieLine(started.setCookie));
  },
});

const loginPartner = route({
  ...login,
  path: "/sso/login/partner/:partnerId",
  summary: "Start to sign in through a partner's own provider",
  params: z.object({ partnerId: id }),
  async handle({ params, query, rpc }, { services }) {
    const wanted = { partnerId: params.partnerId, redirect: query.redirect };
    const started = await services.ssoLogins.beginSsoLogin(wanted, await rpc());
    return redirect(302, started.location, cookieLine(started.setCookie));
  },
});

const callback = route({
  ...open,
  method: "GET",
  path: "/sso/callback",
  cookie: stateCookie,
  summary: "Callback to which an identity provider redirects the browser",
  query: z.object({
    state: anyText(64),
    code: anyText(4_096),
    iss: anyText(500),
    error: anyText(200),
    error_description: anyText(1_000),
    saml: anyText(64),
  }),
  status: 302,
  answers: {
    302: {
      description:
        "To the app: `#ssoCode=<code>` appended to the requested page, or `/login?error=sso_error&reason=<reason>&attempt=<id>`",
      headers: { Location: "An address of the app.", "Set-Cookie": "Ends the cookie of the sign-in." },
    },
  },
  reply: noBody,
  refused: ({ code }, deps) => redirect(302, failedPage(deps, code)),
  async handle({ query, cookie, rpc }, { services }) {
    const { error_description: errorDescription, ...rest } = query;
    const wanted = { ...rest, errorDescription, cookie: cookie ?? "" };
    const done = await services.ssoLogins.finishSsoLogin(wanted, await rpc());
    return redirect(302, done.location, cookieLine(done.setCookie));
  },
});

/** A response of 1 MiB in base64, with its line breaks and a form's escapes. */
const acsLimitBytes = 2 * 1024 * 1024;
/** The states of our login flows. */
const relayStateForm = /[\w-]{1,64}/;

const acs = route({
  ...open,
  method: "POST",
  path: "/sso/saml/acs",
  form: true,
  bodyLimitBytes: acsLimitBytes,
  summary: "Address to which the browser posts a SAML identity provider's response",
  description:
    "The form of the HTTP-POST binding: `SAMLResponse` (at most 1 MiB of XML) and `RelayState`, each once. A response that is too large is redirected, " +
    "too, and its attempt names the size.",
  body: z.object({
    SAMLResponse: z
      .string()
      .catch("")
      .default("")
      .meta({ description: "Response of the identity provider, in base 64." }),
    RelayState: anyText(64),
  }),
  example: { SAMLResponse: "PHNhbWxwOlJlc3BvbnNlIC8+", RelayState: "the state of the sign-in" },
  status: 303,
  answers: {
    303: {
      description:
        "To the callback with a one-time handle, or to `/login?error=sso_error&reason=<reason>&attempt=<id>` of the app",
      headers: { Location: "An address of ours or of the app." },
    },
  },
  reply: noBody,
  async refused({ code, ends, rpc }, deps) {
    const relayState = ends?.formField("RelayState", relayStateForm) ?? null;
    if (code !== "payload_too_large" || ends === null || relayState === null) {
      return redirect(303, failedPage(deps, code));
    }
    const wanted = { relayState, formBytes: ends.bytes, formLimitBytes: acsLimitBytes };
    try {
      return redirect(303, (await deps.services.ssoLogins.receiveSamlResponse(wanted, await rpc())).location);
    } catch (failure) {
      return redirect(303, failedPage(deps, publicError(failure).code));
    }
  },
  async handle({ body, rpc }, { services }) {
    const wanted = { samlResponse: body.SAMLResponse, relayState: body.RelayState };
    return redirect(303, (await services.ssoLogins.receiveSamlResponse(wanted, await rpc())).location);
  },
});

const samlMetadata = route({
  ...open,
  method: "GET",
  path: "/sso/saml/metadata/:providerId",
  summary: "Our metadata for one SAML provider",
  params: z.object({ providerId: id }),
  file: { contentTypes: ["application/samlmetadata+xml"], headers: {} },
  reply: z.string(),
  errors: ["sso_provider_not_found"],
  async handle({ params, rpc }, { services }) {
    const { xml } = await services.ssoLogins.getSamlMetadata(params, await rpc());
    return new Rendered(xml, "application/samlmetadata+xml");
  },
});

const exchange = route({
  ...open,
  method: "POST",
  path: "/sso/exchange",
  summary: "Exchange the one-time code of a callback for a session",
  body: z.object({ code: z.string().min(1).max(255), session: sessionIn }),
  example: { code: "the text behind #ssoCode=" },
  answers: cookieAnswer,
  reply: signedIn,
  errors: ["invalid_exchange_code", "rate_limited", "cross_origin"],
  async handle(request, { services, publicUrl }) {
    const { code, session } = request.body;
    if (session) checkOrigin(request);
    const reply = await services.ssoLogins.exchangeSsoCode({ code }, await request.rpc());
    return withTokens(signedInOf(reply), session, { publicUrl });
  },
});

const loginContext = route({
  ...open,
  method: "GET",
  path: "/auth/login-context",
  summary: "Branding and sign-in of the partner of a single-partner deployment",
  description: "Both null on hosted deployments, and on those with several partners.",
  reply: z.object({
    branding: branding.nullable(),
    partnerSso: z.object({ providerName: z.string(), loginUrl: z.string(), enforceSSO: z.boolean() }).nullable(),
  }),
  async handle({ rpc }, { services, publicUrl }) {
    const reply = await services.ssoLogins.getLoginContext({}, await rpc());
    const loginUrl = `${publicUrl}/api/v1/sso/login/partner/${reply.partnerId}`;
    const partnerSso = { providerName: reply.providerName, loginUrl, enforceSSO: reply.enforced };
    return {
      branding: reply.branding ? brandingOf(reply.branding) : null,
      partnerSso: reply.partnerId === "" ? null : partnerSso,
    };
  },
});

export const ssoLoginRoutes: readonly Route[] = [
  check,
  find,
  loginOrganization,
  loginPartner,
  callback,
  acs,
  samlMetadata,
  exchange,
  loginContext,
];
