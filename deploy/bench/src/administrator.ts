import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { Secret, TOTP } from "otpauth";

export const password = "correct horse battery staple";
const email = "admin@muster.local";

export type Reply = { status: number; body: Record<string, unknown> };
export type Call = (method: string, path: string, body?: object) => Promise<Reply>;

/** One call to a gateway; a bearer token when there is one. */
export async function callAt(
  url: string,
  token: string | null,
  method: string,
  path: string,
  body?: object,
): Promise<Reply> {
  const reply = await fetch(`${url}/api/v1${path}`, {
    method,
    headers: {
      ...(body ? { "content-type": "application/json" } : {}),
      ...(token ? { authorization: `Bearer ${token}` } : {}),
    },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  return { status: reply.status, body: (await reply.json()) as Reply["body"] };
}

const codeOf = (secret: string) => new TOTP({ secret: Secret.fromBase32(secret) }).generate();

async function step(url: string, path: string, body: object, token: string | null): Promise<Reply["body"]> {
  const reply = await callAt(url, token, "POST", path, body);
  if (reply.status >= 300) throw new Error(`POST ${path} answered ${reply.status}: ${JSON.stringify(reply.body)}`);
  return reply.body;
}

/** The first administrator of a new cluster with a completed second factor; throws when a step is refused. */
export async function administrator(url: string): Promise<Call> {
  return (await newAdministrator(url)).call;
}

/**
 * The first administrator as above, with the secret with which `sameAdministrator` signs in again, and the access
 * token.
 */
export async function newAdministrator(url: string): Promise<{ call: Call; secret: string; token: string }> {
  const { accessToken } = await step(url, "/auth/login", { email, password }, null);
  const token = String(accessToken);
  const secret = String((await step(url, "/auth/mfa/totp/setup", { password }, token)).secret);
  await step(url, "/auth/mfa/totp/enable", { code: codeOf(secret) }, token);
  return { secret, token, call: (method, path, body) => callAt(url, token, method, path, body) };
}

/**
 * The administrator of a cluster that was restarted from its data folder. Must not be called in the half minute in
 * which the secret was last used.
 */
export async function sameAdministrator(url: string, secret: string): Promise<Call> {
  const { mfaToken } = await step(url, "/auth/login", { email, password }, null);
  const { accessToken } = await step(url, "/auth/mfa/verify", { mfaToken, code: codeOf(secret) }, null);
  return (method, path, body) => callAt(url, String(accessToken), method, path, body);
}

/** A new partner with one organization that every service knows (identity takes keys for it). */
export async function newOrganization(call: Call): Promise<{ partnerId: string; orgId: string }> {
  const slug = `bench-${randomUUID().slice(0, 8)}`;
  const partner = await call("POST", "/orgs/partners", { name: "Bench", slug });
  const partnerId = String(partner.body.id);
  const made = await call("POST", "/orgs/organizations", { partnerId, name: "Bench", slug });
  const orgId = String(made.body.id);
  for (let tries = 0; ; tries++) {
    const { status, body } = await call("POST", "/api-keys", { orgId, name: "First" });
    if (status === 201) return { partnerId, orgId };
    if (tries === 100) throw new Error(`POST /api-keys answers ${status}: ${JSON.stringify(body)}`);
    await delay(50);
  }
}

/** A new administrator of the organization, who accepted the invitation with the bench's password. */
export async function newUser(url: string, call: Call, orgId: string): Promise<{ email: string }> {
  const { body } = await call("GET", "/roles");
  const roleId = (body.data as { id: string; key: string }[]).find(({ key }) => key === "org-admin")?.id;
  const email = `bench-${randomUUID()}@example.com`;
  const invited = await call("POST", "/users", { email, name: "Bench", orgId, roleId });
  const token = new URLSearchParams(new URL(String(invited.body.inviteUrl)).hash.slice(1)).get("token");
  await step(url, "/auth/accept-invite", { token, password }, null);
  return { email };
}
