// Calls of the public API for the example fleet.
import { Secret, TOTP } from "otpauth";

const atOnce = 8;

/** Runs the work for all items, some at a time. */
export async function eachOf(items, work) {
  const rest = [...items];
  const next = async () => {
    for (let item = rest.shift(); item !== undefined; item = rest.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: atOnce }, next));
}

/** Calls of the API; a caller's token stands last. */
export function apiOf(url) {
  const state = { token: "" };
  async function call(method, path, body, bearer = state.token) {
    const reply = await fetch(`${url}/api/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${bearer}`, ...(body ? { "content-type": "application/json" } : {}) },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    const answer = await reply.json();
    if (!reply.ok) throw new Error(`${method} ${path}: ${reply.status} ${JSON.stringify(answer)}`);
    return answer;
  }
  return { call, state };
}

/** A second factor for the caller; resolves with its secret. */
export async function secondFactorOf(call, password, token) {
  const { secret } = await call("POST", "/auth/mfa/totp/setup", { password }, token);
  const code = new TOTP({ secret: Secret.fromBase32(secret) }).generate();
  await call("POST", "/auth/mfa/totp/enable", { code }, token);
  return secret;
}
