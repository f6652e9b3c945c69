import { createMusterClient } from "@muster/client";
import type { Failure } from "./call.ts";
import { credentials } from "./credentials.ts";

const expired = ["token_expired", "unauthenticated", "session_revoked"];

// Pages over plain http beyond localhost have no randomUUID, which the client's Idempotency-Keys are made with.
crypto.randomUUID ??= () => {
  const hex = Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join(
    "",
  );
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20)}`;
};

/**
 * Sends a request as the signed-in user; a token that has ended and a second factor that is missing are each
 * repaired once.
 */
async function authorized(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
  const { accessToken, renewed, stepUp } = credentials();
  const request = new Request(input, init);
  let token: string | null;
  try {
    token = await accessToken();
  } catch (failure) {
    return refreshRefused(failure as Failure);
  }
  let isRenewed = false;
  let isSteppedUp = false;
  for (;;) {
    const attempt = request.clone();
    if (token !== null) attempt.headers.set("authorization", `Bearer ${token}`);
    const reply = await fetch(attempt);
    if (reply.status !== 401 && reply.status !== 403) return reply;
    const body = (await reply
      .clone()
      .json()
      .catch(() => null)) as { code?: string } | null;
    const code = body?.code ?? "";
    if (reply.status === 401 && !isRenewed && expired.includes(code)) {
      isRenewed = true;
      const next = await renewed(token).catch(() => null);
      if (next === null) return reply;
      token = next;
    } else if (reply.status === 403 && !isSteppedUp && code === "mfa_required") {
      isSteppedUp = true;
      // Nothing had happened: the refused request is sent again.
      if (!(await stepUp())) return reply;
    } else return reply;
  }
}

/**
 * The reply to a request whose token refresh failed although the session may still live. Throws as a request without a
 * reply does.
 */
function refreshRefused(failure: Failure): Response {
  if (failure.status === 0) throw new TypeError(failure.error);
  const { status, retryAfterSeconds, ...body } = failure;
  return Response.json(body, {
    status,
    ...(retryAfterSeconds === null ? {} : { headers: { "retry-after": String(retryAfterSeconds) } }),
  });
}

/** The API of this origin. */
export const api = createMusterClient({ baseUrl: "", fetch: authorized, retries: 2, maxPauseMs: 5_000 });
