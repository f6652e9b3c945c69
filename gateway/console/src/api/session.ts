import { call, type Failure } from "./call.ts";
import { maySessionExist, noteNoSession, noteSession } from "./signed-in-mark.ts";

type Access = { accessToken: string; endsAtMs: number };
type Message = { kind: "ask" } | ({ kind: "token" } & Access) | { kind: "ended"; why: Ended };

export type Ended = "signed-out" | "session-ended";

/** Milliseconds for which a new tab waits for a neighbour's token. */
const neighbourMs = 150;
/** The share of its life after which a token is renewed. */
const renewAt = 0.8;

let access: Access | null = null;
let renewal: Promise<string | null> | null = null;
let timer: ReturnType<typeof setTimeout> | undefined;
let isEnded = false;
let onChange: (why: Ended | "restored") => void = () => undefined;
const tabs = new BroadcastChannel("muster.session");

tabs.onmessage = ({ data }: MessageEvent<Message>) => {
  if (data.kind === "ask" && access !== null) tabs.postMessage({ kind: "token", ...access } satisfies Message);
  if (data.kind === "token") take(data);
  if (data.kind === "ended") end(data.why);
};

/** Calls back when the session has ended, and when a user signs in again; in whichever tab that happened. */
export function whenSessionChanges(callback: (what: Ended | "restored") => void): void {
  onChange = callback;
}

/**
 * A token that is not known to have ended; null without a session. Throws the Failure of a renewal that did not decide.
 */
export async function accessToken(): Promise<string | null> {
  if (access !== null && access.endsAtMs > Date.now()) return access.accessToken;
  return renewed(access?.accessToken ?? null);
}

/**
 * The token after `stale`: of however many requests and tabs ask, one exchanges the cookie. Throws as `accessToken`.
 */
export function renewed(stale: string | null, requested = () => {}): Promise<string | null> {
  if (access !== null && access.accessToken !== stale && access.endsAtMs > Date.now()) {
    return Promise.resolve(access.accessToken);
  }
  renewal ??= exclusively(() => exchange(stale, requested)).finally(() => {
    renewal = null;
  });
  return renewal;
}

/**
 * The token after a sign-in over a page whose session had ended. A renewal in flight is of that session, and would be
 * refused. Null where the new one is refused, too; throws as `accessToken`.
 */
export async function signedInAgain(): Promise<string | null> {
  await renewal?.catch(() => null);
  return renewed(null);
}

/**
 * Queries the other tabs, then the server. Null without a session. `requested` runs when the server has been queried: a
 * browser sends few requests at a time, and whatever is loaded before that one delays its reply.
 */
export async function restore(requested: () => void): Promise<string | null> {
  if (!maySessionExist()) return null;
  tabs.postMessage({ kind: "ask" } satisfies Message);
  const until = performance.now() + ((await isOnlyTab()) ? 0 : neighbourMs);
  while (access === null && performance.now() < until) await new Promise((resolve) => setTimeout(resolve, 10));
  return access === null ? renewed(null, requested) : accessToken();
}

/** Whether no other tab is open, if the browser can report it. From now on other tabs can detect this one. */
async function isOnlyTab(): Promise<boolean> {
  if (!("locks" in navigator)) return false;
  const { held } = await navigator.locks.query();
  void navigator.locks.request("muster.tab", { mode: "shared" }, () => new Promise(() => undefined));
  return !held?.some(({ name }) => name === "muster.tab");
}

/** Ends the session everywhere and in every tab. */
export async function signOut(): Promise<Failure | null> {
  let token: string | null;
  try {
    token = await accessToken();
  } catch (failure) {
    // Without a reply the session counts as active: the cookie would still exist.
    return failure as Failure;
  }
  if (token !== null) {
    const { failure } = await call("POST", "/auth/logout", {}, token);
    if (failure && failure.status !== 401) return failure;
  }
  tabs.postMessage({ kind: "ended", why: "signed-out" } satisfies Message);
  end("signed-out");
  return null;
}

async function exchange(stale: string | null, requested: () => void): Promise<string | null> {
  // Another tab was first while this one waited for its turn.
  if (access !== null && access.accessToken !== stale && access.endsAtMs > Date.now()) return access.accessToken;
  const reply = call<{ accessToken: string; expiresInSeconds: number }>("POST", "/auth/refresh", {});
  requested();
  const { data, failure } = await reply;
  if (failure === undefined) {
    const next = { accessToken: data.accessToken, endsAtMs: Date.now() + data.expiresInSeconds * 1_000 };
    take(next);
    tabs.postMessage({ kind: "token", ...next } satisfies Message);
    return next.accessToken;
  }
  // A missing network, a busy API and a rate limit do not end the session.
  if (failure.code !== "invalid_refresh_token" && failure.code !== "session_revoked") throw failure;
  tabs.postMessage({ kind: "ended", why: "session-ended" } satisfies Message);
  end("session-ended");
  return null;
}

function take({ accessToken, endsAtMs }: Access): void {
  access = { accessToken, endsAtMs };
  noteSession();
  if (isEnded) {
    isEnded = false;
    onChange("restored");
  }
  clearTimeout(timer);
  const lifeMs = endsAtMs - Date.now();
  // A hidden tab waits: the visible one renews for all.
  timer = setTimeout(
    () => {
      if (document.visibilityState === "visible") renewed(accessToken).catch(() => undefined);
    },
    Math.max(1_000, lifeMs * renewAt),
  );
}

function end(why: Ended): void {
  access = null;
  clearTimeout(timer);
  noteNoSession();
  isEnded = true;
  onChange(why);
}

/**
 * One tab at a time; over plain http beyond localhost there are no locks, and the server's grace for repeats serves.
 */
const exclusively = <T>(work: () => Promise<T>): Promise<T> =>
  "locks" in navigator ? navigator.locks.request("muster.refresh", work) : work();
