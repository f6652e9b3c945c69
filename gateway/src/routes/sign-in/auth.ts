import { AppError } from "@muster/kit";
import type { Principal, TokenPair } from "@muster/proto/muster/identity/v1/session_pb";
import { z } from "zod";
import { signedInUserOf } from "../../auth/principal.ts";
import {
  checkOrigin,
  cookieAnswer,
  dropSession,
  sessionCookie,
  sessionIn,
  withTokens,
} from "../../http/session-cookie.ts";
import type { Credential, KeyHolder } from "../../route/credential.ts";
import { Answered, Rendered } from "../../route/reply.ts";
import { type Route, route } from "../../route/route.ts";
import { idOut, nameIn, success, timeOf, timeOrNull, timeOut } from "../fields/schemas.ts";

const tag = "Sessions";

const scope = z.enum(["system", "partner", "organization"]);

const user = z
  .object({
    id: idOut,
    email: z.string(),
    name: z.string(),
    scope,
    partnerId: idOut.nullable(),
    orgId: idOut.nullable(),
    permissions: z.array(z.string()),
    mfaEnabled: z.boolean(),
    secondFactorRequired: z.boolean().meta({
      description:
        "The tenant requires a second factor that this session lacks: it can do nothing but enroll or complete one.",
    }),
  })
  .meta({ id: "User" });

const me = user
  .extend({
    role: z.string().nullable(),
    orgAccess: z.enum(["all", "selected", "none"]).nullable().meta({
      description: "Organizations of the partner that the user can access; null unless the scope is partner.",
    }),
    orgIds: z.array(idOut).meta({ description: "Organizations granted when `orgAccess` is `selected`." }),
    siteIds: z
      .array(idOut)
      .nullable()
      .meta({ description: "Sites that the user is limited to; null when not limited." }),
  })
  .meta({ id: "Me" });

const keyMe = z
  .object({
    actorType: z.literal("api_key"),
    id: idOut,
    name: z.string(),
    keyPrefix: z.string(),
    scope: z.literal("organization"),
    partnerId: idOut,
    orgId: idOut,
    scopes: z.array(z.string()),
    permissions: z.array(z.string()).meta({ description: "Permissions that the scopes grant." }),
    rateLimit: z.int().meta({ description: "Maximum number of requests per hour." }),
    expiresAt: timeOut.nullable(),
    principalId: idOut.nullable().meta({ description: "The service principal that owns the key." }),
  })
  .meta({ id: "KeyCaller" });

export const tokens = z.object({
  accessToken: z.string(),
  refreshToken: z.string().optional().meta({ description: "Omitted when it is set as a cookie." }),
  expiresInSeconds: z.int().meta({ description: "Lifetime of the access token, in seconds." }),
});

export const signedIn = z.object({ user, ...tokens.shape }).meta({ id: "SignedIn" });

const mfaRequired = z
  .object({
    mfaRequired: z.literal(true),
    mfaToken: z
      .string()
      .meta({ description: "Token for POST /auth/mfa/verify or passkeys/authenticate, valid for 5 minutes." }),
    methods: z.array(z.enum(["totp", "passkey", "recovery_code"])),
  })
  .meta({ id: "MfaRequired" });

const login = route({
  method: "POST",
  path: "/auth/login",
  load: "vital",
  queued: true,
  access: { auth: "none" },
  tag,
  summary: "Sign in with e-mail and password",
  description:
    "Every refusal is the same `invalid_credentials`. With an enrolled second factor the tokens are returned after its verification.",
  body: z.object({
    email: z.string().min(1).max(255),
    password: z.string().min(1).max(1_024),
    session: sessionIn,
  }),
  example: { email: "ada@example.com", password: "correct horse battery staple" },
  noStore: true,
  answers: cookieAnswer,
  reply: z.union([signedIn, mfaRequired]),
  errors: ["invalid_credentials", "rate_limited", "overloaded", "cross_origin"],
  async handle(request, { services, publicUrl }) {
    const { session, ...credentials } = request.body;
    if (session) checkOrigin(request);
    const reply = await services.sessions.login(credentials, await request.rpc());
    if (reply.mfaToken === "") return withTokens(signedInOf(reply), session, { publicUrl });
    const methods = mfaRequired.shape.methods.parse(reply.methods);
    return { mfaRequired: true as const, mfaToken: reply.mfaToken, methods };
  },
});

const refresh = route({
  method: "POST",
  path: "/auth/refresh",
  access: { auth: "none" },
  tag,
  summary: "Exchange a refresh token for the next pair",
  description:
    "Presenting an older token again, later than its 20 s grace, revokes the whole session. Without a token in the body the session " +
    "cookie is read, for pages of this origin alone, and the next token is set as that cookie.",
  body: z.object({
    refreshToken: z
      .string()
      .min(1)
      .max(1_024)
      .optional()
      .meta({ description: "Refresh token of the session; without it, that of the cookie." }),
  }),
  example: { refreshToken: "the token of the sign-in" },
  cookie: sessionCookie,
  noStore: true,
  answers: {
    200: {
      description: "Success",
      headers: { "Set-Cookie": "Next token, when the present one was sent as a cookie." },
    },
  },
  reply: tokens.meta({ id: "TokenPair" }),
  errors: ["invalid_refresh_token", "session_revoked", "rate_limited", "cross_origin"],
  async handle(request, { services, publicUrl }) {
    const refreshToken = request.body.refreshToken ?? cookieToken(request);
    const { tokens: pair } = await services.sessions.refresh({ refreshToken }, await request.rpc());
    if (!pair) throw new Error("identity answered a refresh without tokens");
    return withTokens(pairOf(pair), request.body.refreshToken === undefined ? "cookie" : undefined, { publicUrl });
  },
});

const invitation = route({
  method: "POST",
  path: "/auth/invitation",
  access: { auth: "none" },
  tag,
  summary: "Who invites whom, by the token of an invitation",
  description: "For the page where an invited user sets a password. Changes nothing.",
  body: z.object({ token: z.string().min(1).max(255) }),
  example: { token: "inv_…" },
  noStore: true,
  reply: z
    .object({
      email: z.string(),
      name: z.string(),
      invitedBy: z.string().nullable().meta({ description: "Name of the inviter; null for invitations of before." }),
      partner: z.string().nullable().meta({ description: "Name of the partner; null for users of the platform." }),
      organization: z.string().nullable().meta({ description: "Name of the organization; null for users above it." }),
      expiresAt: timeOut,
    })
    .meta({ id: "Invitation" }),
  errors: ["invalid_token", "rate_limited", "sso_required"],
  async handle({ body, rpc }, { services }) {
    const invite = await services.users.describeInvite(body, await rpc());
    const ids = [invite.partnerId, invite.orgId].filter((id) => id !== "");
    const { names } = ids.length > 0 ? await services.names.listTenantNames({ ids }, await rpc()) : { names: [] };
    const nameOf = (wanted: string) => names.find(({ id }) => id === wanted)?.name ?? null;
    return {
      email: invite.email,
      name: invite.name,
      invitedBy: invite.invitedBy || null,
      partner: nameOf(invite.partnerId),
      organization: nameOf(invite.orgId),
      expiresAt: timeOf(invite.expiresAt),
    };
  },
});

const acceptInvite = route({
  method: "POST",
  path: "/auth/accept-invite",
  queued: true,
  access: { auth: "none" },
  tag,
  summary: "Set the password of an invited user",
  body: z.object({
    token: z.string().min(1).max(255),
    password: z.string().min(12).max(1_024),
    name: nameIn.optional(),
  }),
  example: { token: "inv_…", password: "correct horse battery staple" },
  noStore: true,
  reply: success,
  errors: ["invalid_token", "rate_limited", "overloaded", "sso_required"],
  async handle({ body, rpc }, { services }) {
    await services.users.acceptInvite({ ...body, name: body.name ?? "" }, await rpc());
    return { success: true as const };
  },
});

const logout = route({
  method: "POST",
  path: "/auth/logout",
  audit: "user.logout",
  load: "vital",
  access: { auth: "session", whileInactive: true, beforeSecondFactor: true },
  tag,
  summary: "End this session everywhere",
  cookie: sessionCookie,
  noStore: true,
  answers: { 200: { description: "Success", headers: { "Set-Cookie": "Removes the session cookie that was sent." } } },
  reply: success,
  async handle({ session, cookie, rpc }, { services, sessions, publicUrl }) {
    await services.sessions.logout({}, await rpc());
    sessions.revoked(session.id);
    const done = { success: true as const };
    return cookie === null ? done : new Answered(200, dropSession({ publicUrl }), new Rendered(JSON.stringify(done)));
  },
});

// Cached by session object, which stays the same while nothing about the user changes.
const renderedMe = new WeakMap<Credential, Rendered>();

const getMe = route({
  method: "GET",
  path: "/auth/me",
  access: { auth: "any", whileInactive: true },
  tag,
  summary: "The caller: a user or an API key",
  noStore: true,
  reply: z.union([me, keyMe]),
  handle({ session }) {
    let rendered = renderedMe.get(session);
    if (rendered === undefined) {
      rendered = new Rendered(JSON.stringify(session.kind === "key" ? keyMeOf(session) : meOf(session.principal)));
      renderedMe.set(session, rendered);
    }
    return rendered;
  },
});

const rename = route({
  method: "PATCH",
  path: "/auth/me",
  audit: "user.update",
  access: { auth: "session" },
  tag,
  summary: "Change the caller's own name",
  body: z.object({ name: nameIn }),
  noStore: true,
  reply: me,
  async handle({ body, session, rpc }, { services, sessions }) {
    const { name } = await services.account.updateOwnName(body, await rpc());
    sessions.forget(({ principal }) => principal.userId === session.principal.userId);
    return meOf({ ...session.principal, name });
  },
});

function meOf(principal: Principal): z.input<typeof me> {
  const { scope, orgAccess } = principal;
  return {
    ...signedInUserOf(principal),
    role: principal.role || null,
    orgAccess: scope === "partner" ? accessOf(orgAccess) : null,
    orgIds: scope === "partner" && orgAccess === "selected" ? principal.orgIds : [],
    siteIds: principal.siteRestricted ? principal.siteIds : null,
  };
}

function keyMeOf({ record, caller }: KeyHolder): z.input<typeof keyMe> {
  return {
    actorType: "api_key",
    id: record.id,
    name: record.name,
    keyPrefix: record.keyPrefix,
    scope: "organization",
    partnerId: record.partnerId,
    orgId: record.orgId,
    scopes: record.scopes,
    permissions: [...caller.permissions],
    rateLimit: record.rateLimit,
    expiresAt: timeOrNull(record.expiresAt),
    principalId: record.principalId || null,
  };
}

function accessOf(text: string): "all" | "selected" | "none" {
  return text === "all" || text === "selected" ? text : "none";
}

/** The reply of a completed sign-in. Throws when identity omitted principal or tokens. */
export function signedInOf(reply: {
  principal?: Principal | undefined;
  tokens?: TokenPair | undefined;
}): z.input<typeof signedIn> {
  const { principal, tokens: pair } = reply;
  if (!principal || !pair) throw new Error("identity answered a sign-in without principal or tokens");
  return { user: signedInUserOf(principal), ...pairOf(pair) };
}

/**
 * The refresh token of the browser's cookie. Throws AppError `invalid_refresh_token` without one, EdgeError
 * `cross_origin`.
 */
function cookieToken(request: { cookie: string | null; sameOrigin(): boolean }): string {
  if (!request.cookie) throw new AppError("invalid_refresh_token", "Refresh token is missing");
  checkOrigin(request);
  return request.cookie;
}

function pairOf(pair: TokenPair): z.input<typeof tokens> {
  const { accessToken, refreshToken, expiresInSeconds } = pair;
  return { accessToken, refreshToken, expiresInSeconds };
}

export const authRoutes: readonly Route[] = [login, refresh, invitation, acceptInvite, logout, getMe, rename];
