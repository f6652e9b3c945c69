import type { Principal, TokenPair } from "@muster/proto/muster/identity/v1/session_pb";
import { z } from "zod";
import { userOf } from "../auth/principal.ts";
import { Rendered } from "../http/reply.ts";
import { type Route, route } from "../route.ts";
import { idOut } from "./schemas.ts";

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
  })
  .meta({ id: "User" });

const me = user
  .extend({
    role: z.string().nullable(),
    orgAccess: z.enum(["all", "selected", "none"]).nullable().meta({ description: "Null unless the scope is partner." }),
    orgIds: z.array(idOut).meta({ description: "Organizations granted when `orgAccess` is `selected`." }),
  })
  .meta({ id: "Me" });

const tokens = z.object({
  accessToken: z.string(),
  refreshToken: z.string(),
  expiresInSeconds: z.int().meta({ description: "Life of the access token." }),
});

const login = route({
  method: "POST",
  path: "/auth/login",
  access: { auth: "none" },
  tag,
  summary: "Sign in with e-mail and password",
  description: "Every refusal is the same `invalid_credentials`.",
  body: z.object({
    email: z.string().min(1).max(255),
    password: z.string().min(1).max(1_024),
  }),
  noStore: true,
  reply: z.object({ user, ...tokens.shape }).meta({ id: "SignedIn" }),
  errors: ["invalid_credentials", "rate_limited"],
  async handle({ body, rpc }, { services }) {
    const reply = await services.sessions.login(body, await rpc());
    const { principal, tokens: pair } = reply;
    if (!principal || !pair) throw new Error("identity answered a login without principal or tokens");
    return { user: userOf(principal), ...pairOf(pair) };
  },
});

const refresh = route({
  method: "POST",
  path: "/auth/refresh",
  access: { auth: "none" },
  tag,
  summary: "Exchange a refresh token for the next pair",
  description: "Presenting an older token again, later than its 20 s grace, revokes the whole session.",
  body: z.object({ refreshToken: z.string().min(1).max(1_024) }),
  noStore: true,
  reply: tokens.meta({ id: "TokenPair" }),
  errors: ["invalid_refresh_token", "session_revoked"],
  async handle({ body, rpc }, { services }) {
    const { tokens: pair } = await services.sessions.refresh(body, await rpc());
    if (!pair) throw new Error("identity answered a refresh without tokens");
    return pairOf(pair);
  },
});

const logout = route({
  method: "POST",
  path: "/auth/logout",
  access: { auth: "session" },
  tag,
  summary: "End this session everywhere",
  noStore: true,
  reply: z.object({ success: z.literal(true) }).meta({ id: "Success" }),
  async handle({ session, rpc }, { services, sessions }) {
    await services.sessions.logout({}, await rpc());
    sessions.revoked(session.id);
    return { success: true as const };
  },
});

// Hangs on the session object, which stays the same while nothing about the person changes.
const renderedMe = new WeakMap<Principal, Rendered>();

const getMe = route({
  method: "GET",
  path: "/auth/me",
  access: { auth: "session" },
  tag,
  summary: "The caller",
  noStore: true,
  reply: me,
  handle({ session: { principal } }) {
    let rendered = renderedMe.get(principal);
    if (rendered === undefined) {
      rendered = new Rendered(JSON.stringify(meOf(principal)));
      renderedMe.set(principal, rendered);
    }
    return rendered;
  },
});

function meOf(principal: Principal): z.input<typeof me> {
  const { scope: place, orgAccess } = principal;
  return {
    ...userOf(principal),
    role: principal.role || null,
    orgAccess: place === "partner" ? accessOf(orgAccess) : null,
    orgIds: place === "partner" && orgAccess === "selected" ? principal.orgIds : [],
  };
}

function accessOf(text: string): "all" | "selected" | "none" {
  return text === "all" || text === "selected" ? text : "none";
}

function pairOf(pair: TokenPair): z.input<typeof tokens> {
  const { accessToken, refreshToken, expiresInSeconds } = pair;
  return { accessToken, refreshToken, expiresInSeconds };
}

export const authRoutes: readonly Route[] = [login, refresh, logout, getMe];
