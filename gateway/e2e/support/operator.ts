import { randomUUID } from "node:crypto";
import { readFile, rename, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Secret, TOTP } from "otpauth";
import type { Cluster } from "./cluster.ts";
import { noteExchange } from "./handed-out.ts";

type Credentials = { email: string; password: string };
type Body = Record<string, unknown>;
type Tokens = { accessToken: string; refreshToken: string };

const password = "operator of the whole platform";
const fileOf = (cluster: Cluster) => join(dirname(cluster.dataDir), "operator.json");

/** Six digits of an authenticator app with this secret, now. */
export const totpCode = (secret: string) => new TOTP({ secret: Secret.fromBase32(secret) }).generate();

/** Its digits at another time, in milliseconds. */
export const totpAt = (secret: string, timestamp: number) =>
  new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp });

/**
 * Makes a second platform administrator with a second factor, through the HTTP interface alone. The first one has a
 * factor for that time only and signs in with a password again afterwards, as tests expect: call it while no other test
 * is there.
 */
export async function prepareOperator(cluster: Cluster, admin: Credentials): Promise<Tokens> {
  const first = await login(cluster, admin);
  const [recoveryCode] = await enroll(cluster, first, admin.password);
  const { data } = (await call(cluster, "GET", "/roles", first)) as { data: { id: string; key: string }[] };
  const roleId = data.find((role) => role.key === "platform-admin")?.id;
  const email = "operator@muster.local";
  const { inviteUrl } = await call(cluster, "POST", "/users", first, { email, name: "Operator", roleId });
  const token = new URLSearchParams(new URL(String(inviteUrl)).hash.slice(1)).get("token");
  await call(cluster, "POST", "/auth/accept-invite", null, { token, password });
  await call(cluster, "POST", "/auth/mfa/totp/disable", first, { password: admin.password, code: recoveryCode });
  const tokens = await login(cluster, { email, password });
  await enroll(cluster, tokens, password);
  await keep(cluster, tokens);
  return tokens;
}

/** An access token of the operator, whose second factor counts, good for a minute at least. */
export async function operatorToken(cluster: Cluster, admin: Credentials): Promise<string> {
  const text = await readFile(fileOf(cluster), "utf8").catch(() => null);
  if (text === null) return (await prepareOperator(cluster, admin)).accessToken;
  const { accessToken, refreshToken } = JSON.parse(text) as Tokens;
  const [, claims = ""] = accessToken.split(".");
  const { exp } = JSON.parse(Buffer.from(claims, "base64url").toString()) as { exp: number };
  // A test file may use it for ten minutes.
  if (exp * 1000 - Date.now() > 600_000) return accessToken;
  // Two test files that refresh together are given the same successor.
  const next = (await call(cluster, "POST", "/auth/refresh", null, { refreshToken })) as unknown as Tokens;
  await keep(cluster, next);
  return next.accessToken;
}

/** Enrolls TOTP for a session that needs its password; returns the recovery codes. */
async function enroll(cluster: Cluster, tokens: Tokens, ownPassword: string): Promise<string[]> {
  const { secret } = await call(cluster, "POST", "/auth/mfa/totp/setup", tokens, { password: ownPassword });
  const { recoveryCodes } = await call(cluster, "POST", "/auth/mfa/totp/enable", tokens, {
    code: totpCode(String(secret)),
  });
  return recoveryCodes as string[];
}

const login = async (cluster: Cluster, credentials: Credentials) =>
  (await call(cluster, "POST", "/auth/login", null, credentials)) as unknown as Tokens;

async function keep(cluster: Cluster, { accessToken, refreshToken }: Tokens): Promise<void> {
  const file = fileOf(cluster);
  // Several may write at once, also of one process.
  const made = `${file}.${randomUUID()}`;
  await writeFile(made, JSON.stringify({ accessToken, refreshToken }));
  await rename(made, file);
}

async function call(
  cluster: Cluster,
  method: string,
  path: string,
  tokens: Tokens | null,
  body?: object,
): Promise<Body> {
  const reply = await fetch(`${cluster.url}/api/v1${path}`, {
    method,
    headers: {
      ...(body ? { "content-type": "application/json" } : {}),
      ...(tokens ? { authorization: `Bearer ${tokens.accessToken}` } : {}),
    },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  const text = await reply.text();
  const { status, headers } = reply;
  noteExchange(cluster, { method, path, sent: body, repeatable: false, status, headers, text });
  const answer = JSON.parse(text) as Body;
  if (!reply.ok) throw new Error(`${method} ${path} answered ${reply.status}: ${JSON.stringify(answer)}`);
  return answer;
}
