import { cookieLine, cookiePair } from "@muster/kit";
import { z } from "zod";
import { EdgeError } from "../errors.ts";
import type { Deps } from "../route/deps.ts";
import { Answered, Rendered } from "../route/reply.ts";
import type { AnswerDescription } from "../route/route.ts";

/**
 * The server decides how long a session lasts; the cookie only has to outlive it (SESSION_MAX_DAYS is at most a year).
 */
const maxAgeSeconds = 365 * 86_400;

type CookieDeps = Pick<Deps, "publicUrl">;

const isSecure = ({ publicUrl }: CookieDeps) => publicUrl.startsWith("https:");

/**
 * Name of the cookie: the prefix keeps sibling domains from planting one (RFC 6265bis section 4.1.3), and exists over
 * HTTPS alone.
 */
export const sessionCookie = (deps: CookieDeps) => (isSecure(deps) ? "__Host-service_session" : "service_session");

const lineOf = (deps: CookieDeps, value: string, seconds: number) =>
  `${cookiePair(sessionCookie(deps), value)}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${seconds}${isSecure(deps) ? "; Secure" : ""}`;

/** Header lines that keep a refresh token in the browser. */
const keepSession = (deps: CookieDeps, refreshToken: string) => cookieLine(lineOf(deps, refreshToken, maxAgeSeconds));

/** Header lines that remove it. */
export const dropSession = (deps: CookieDeps) => cookieLine(lineOf(deps, "", 0));

/** Where a completed sign-in returns its refresh token. */
export const sessionIn = z.enum(["cookie"]).optional().meta({
  description:
    "`cookie`: the refresh token is set as an HttpOnly cookie and omitted from the reply. For pages of this origin only.",
});

/** The same parameter for the OpenAPI document. */
export const cookieAnswer: Readonly<Record<200, AnswerDescription>> = {
  200: { description: "Success", headers: { "Set-Cookie": 'With `session: "cookie"`: the refresh token.' } },
};

/**
 * Refuses cookies for pages of other origins before any work is done: such a page could sign a browser in to another
 * account, or extend a session. Throws EdgeError `cross_origin`.
 */
export function checkOrigin(request: { sameOrigin(): boolean }): void {
  if (!request.sameOrigin()) throw new EdgeError("cross_origin", "Session cookies are for pages of this origin only");
}

/** A reply with tokens as its caller requested it: unchanged, or with the refresh token as a cookie. */
export function withTokens<R extends { refreshToken?: string }>(
  reply: R,
  wanted: "cookie" | undefined,
  deps: CookieDeps,
): R | Answered {
  const { refreshToken, ...rest } = reply;
  if (wanted === undefined || refreshToken === undefined) return reply;
  return new Answered(200, keepSession(deps, refreshToken), new Rendered(JSON.stringify(rest)));
}
