import type { SessionInfo } from "@muster/proto/muster/identity/v1/account_pb";
import { z } from "zod";
import { type Route, route } from "../../route/route.ts";
import {
  idOut,
  idParams,
  listQuery,
  pageOf,
  pagination,
  paginationOf,
  success,
  timeOf,
  timeOrNull,
  timeOut,
} from "../fields/schemas.ts";

const tag = "Sessions";

const newPassword = z.string().min(12).max(1_024);

const sessionInfo = z
  .object({
    id: idOut,
    device: z
      .string()
      .meta({ description: "Name of the client as it reports it: `Firefox on Linux`, or `CLI: laptop`." }),
    clientName: z.string().nullable().meta({
      description: "What a client without a browser calls itself that the user approved; null for all others.",
    }),
    userAgent: z.string().nullable(),
    ipAddress: z.string().nullable().meta({ description: "Address from which the session was last used." }),
    createdAt: timeOut,
    lastUsedAt: timeOut.meta({ description: "Time of the sign-in, or of the last refresh." }),
    expiresAt: timeOut.meta({ description: "Time at which the session ends if it is not used before." }),
    mfaAt: timeOut.nullable().meta({ description: "Time at which a second factor was last completed in the session." }),
    current: z.boolean().meta({ description: "Whether it is the session of this request." }),
  })
  .meta({ id: "SessionRecord" });

const forgot = route({
  method: "POST",
  path: "/auth/forgot-password",
  access: { auth: "none" },
  tag,
  summary: "Request a link to set a new password",
  description:
    "The reply is the same whether or not the account exists. The link is sent by mail, at most three times an hour per account.",
  body: z.object({ email: z.string().trim().min(1).max(255) }),
  example: { email: "ada@example.com" },
  noStore: true,
  reply: success,
  errors: ["rate_limited"],
  async handle({ body, rpc }, { services }) {
    await services.account.forgotPassword(body, await rpc());
    return { success: true as const };
  },
});

const reset = route({
  method: "POST",
  path: "/auth/reset-password",
  queued: true,
  access: { auth: "none" },
  tag,
  summary: "Set a new password with the token of a link",
  description: "The token is valid once, for an hour. Every session of the user ends.",
  body: z.object({ token: z.string().min(1).max(255), password: newPassword }),
  example: { token: "rst_…", password: "correct horse battery staple" },
  noStore: true,
  reply: success,
  errors: ["invalid_token", "rate_limited", "overloaded"],
  async handle({ body, rpc }, { services }) {
    await services.account.resetPassword(body, await rpc());
    return { success: true as const };
  },
});

const change = route({
  method: "POST",
  path: "/auth/change-password",
  audit: "user.password.change",
  access: { auth: "session" },
  tag,
  summary: "Change the caller's own password",
  description: "The user's other sessions end; this one continues.",
  body: z.object({ currentPassword: z.string().min(1).max(1_024), newPassword }),
  example: { currentPassword: "an old password", newPassword: "correct horse battery staple" },
  noStore: true,
  reply: success,
  errors: ["invalid_credentials", "rate_limited", "overloaded", "sso_required"],
  async handle({ body, rpc }, { services }) {
    await services.account.changePassword(body, await rpc());
    return { success: true as const };
  },
});

const list = route({
  method: "GET",
  path: "/auth/sessions",
  access: { auth: "session" },
  tag,
  summary: "The caller's own active sessions, newest first",
  query: listQuery,
  noStore: true,
  reply: z.object({ data: z.array(sessionInfo), pagination }),
  async handle({ query, rpc }, { services }) {
    const reply = await services.account.listSessions({ page: pageOf(query) }, await rpc());
    return { data: reply.sessions.map(sessionOf), pagination: paginationOf(reply.page) };
  },
});

const revoke = route({
  method: "DELETE",
  path: "/auth/sessions/:id",
  audit: "session.revoke",
  load: "vital",
  access: { auth: "session" },
  tag,
  summary: "End one of the caller's own sessions everywhere",
  params: idParams,
  noStore: true,
  reply: success,
  errors: ["session_not_found"],
  async handle({ params, rpc }, { services, sessions }) {
    await services.account.revokeSession(params, await rpc());
    sessions.revoked(params.id);
    return { success: true as const };
  },
});

const revokeOthers = route({
  method: "DELETE",
  path: "/auth/sessions",
  audit: "session.revoke",
  load: "vital",
  access: { auth: "session" },
  tag,
  summary: "End all of the caller's own sessions except this one",
  noStore: true,
  reply: success,
  async handle({ rpc }, { services }) {
    await services.account.revokeOtherSessions({}, await rpc());
    return { success: true as const };
  },
});

function sessionOf(message: SessionInfo): z.input<typeof sessionInfo> {
  return {
    id: message.id,
    device: message.device,
    clientName: message.clientName || null,
    userAgent: message.userAgent || null,
    ipAddress: message.ipAddress || null,
    createdAt: timeOf(message.createdAt),
    lastUsedAt: timeOf(message.lastUsedAt),
    expiresAt: timeOf(message.expiresAt),
    mfaAt: timeOrNull(message.mfaAt),
    current: message.current,
  };
}

export const accountRoutes: readonly Route[] = [forgot, reset, change, list, revoke, revokeOthers];
