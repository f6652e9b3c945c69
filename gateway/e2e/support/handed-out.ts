import { appendFileSync, mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { type Secret, type SecretScanner, secretScanner } from "@muster/testing";
import type { Cluster } from "./cluster.ts";

/** One request that was answered, as its client saw it. */
export type Exchange = {
  method: string;
  path: string;
  /** What the client sent: parsed, or as text. */
  sent: unknown;
  repeatable: boolean;
  status: number;
  headers: Headers;
  text: string;
};

type Noted = { secrets: Map<string, Secret>; scanner: SecretScanner; file: string };

/** Fields that always hold a secret; in URLs, parameters of that name. */
const secretFields =
  /^(accessToken|refreshToken|mfaToken|agentToken|token|secret|clientSecret|recoveryCodes|(device|user)Code|[a-z]*Password)$/i;
/** `key` is also the name of a role: the form of the value decides. */
const secretLooks = [
  /^(svc|agt|dev|mfa|pwr|inv|scim|ptc|ptl)_[\w-]{32,}$/,
  /^[0-9a-f]{64}$/,
  /^eyJ[\w-]+\.[\w-]+\.[\w-]+$/,
  /^[A-Z2-7]{4}(-[A-Z2-7]{4}){3}$/,
];
/** `code` is also the name of an error: what a single sign-on ends with is 256 random bits. */
const exchangeCode = /^[\w-]{43}$/;
/** Digests of public files, and of certificates. */
const publicFields = /^(sha256|fingerprint)$/;
const urlFields = /url$/i;
/** These routes exist to answer a repeat with the same reply, or to show a secret again. */
const repeats = /^\/(auth\/(refresh|mfa\/verify|mfa\/passkeys\/authenticate\/verify)|webhooks\/[^/]+\/reveal-secret)$/;

const clusters = new Map<string, Noted>();

function notedOf(cluster: Cluster): Noted {
  const cached = clusters.get(cluster.dataDir);
  if (cached) return cached;
  const folder = join(dirname(cluster.dataDir), "secrets");
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `${process.pid}-${clusters.size}.jsonl`);
  const fresh = { secrets: new Map(), scanner: secretScanner({ digests: true }), file };
  clusters.set(cluster.dataDir, fresh);
  return fresh;
}

/** Every secret that clients of this process sent to the cluster or got from it. */
export const handedOut = (cluster: Cluster): Secret[] => [...notedOf(cluster).secrets.values()];

/** Adds a secret that is handed out elsewhere than in the fields of a reply. */
export function noteSecret(cluster: Cluster, secret: Secret): void {
  const { secrets, scanner, file } = notedOf(cluster);
  const hex = Buffer.from(secret.value as string).toString("hex");
  if (secrets.has(hex)) return;
  secrets.set(hex, secret);
  scanner.add(secret);
  // For the search after the run, which other processes' clients contribute to.
  appendFileSync(file, `${JSON.stringify({ name: secret.name, hex })}\n`, { mode: 0o600 });
}

/** Notes the secrets of a request and of its answer. */
export function noteSecretsOf(cluster: Cluster, exchange: Shown & Sent): void {
  for (const secret of [...shownIn(exchange), ...sentIn(exchange)]) noteSecret(cluster, secret);
}

/**
 * Notes the secrets of an exchange, and throws when its reply holds one that an earlier exchange was about, or a digest
 * of one: each is shown once, in the field made for it, in the reply to a POST.
 */
export function noteExchange(cluster: Cluster, exchange: Exchange): void {
  const { path, headers, text } = exchange;
  // The OpenAPI document has no real secrets: an example in it may equal some test's password.
  if (path === "/openapi.json") return;
  const { secrets, scanner } = notedOf(cluster);
  const shown = shownIn(exchange);
  const again = exchange.repeatable || repeats.test(path.split("?")[0] ?? "");
  let rest = text;
  for (const { name, value } of shown) {
    if (secrets.has(Buffer.from(value).toString("hex")) && !again) fail(exchange, name, "a second time");
    rest = rest.replaceAll(JSON.stringify(value).slice(1, -1), "");
  }
  for (const part of [rest, JSON.stringify([...headers])]) {
    const [leak] = scanner.find(Buffer.from(part));
    if (leak) fail(exchange, leak.name, leak.form);
  }
  noteSecretsOf(cluster, exchange);
  if (shown.length === 0) return;
  const fresh = secretScanner({ digests: true });
  for (const secret of shown) fresh.add(secret);
  const [own] = fresh.find(Buffer.from(rest));
  if (own) fail(exchange, own.name, own.form);
}

function fail({ method, path, status }: Exchange, name: string, form: string): never {
  throw new Error(`the answer ${status} to ${method} ${path} shows the secret "${name}" (${form})`);
}

type Shown = Pick<Exchange, "method" | "status" | "text">;
type Sent = Pick<Exchange, "path" | "status" | "sent">;

const isSuccess = (status: number) => status >= 200 && status < 300;

const shownIn = ({ method, status, text }: Shown) =>
  method === "POST" && isSuccess(status) ? secretsIn(parsed(text)) : [];

/** Of refused requests mistyped passwords alone: what others hold may be any text. */
const sentIn = ({ path, status, sent }: Sent) =>
  isSuccess(status) || (status === 401 && path.endsWith("/auth/login"))
    ? secretsIn(typeof sent === "string" ? parsed(sent) : sent)
    : [];

function secretsIn(value: unknown, name = ""): { name: string; value: string }[] {
  if (Array.isArray(value)) return value.flatMap((each) => secretsIn(each, name));
  if (typeof value === "object" && value !== null) {
    return Object.entries(value).flatMap(([field, each]) => secretsIn(each, field));
  }
  if (typeof value !== "string" || value.length < 8 || publicFields.test(name)) return [];
  // One character over and over is a length: the same text goes into every field.
  if (new Set(value).size === 1) return [];
  const isSecret = secretFields.test(name) || secretLooks.some((look) => look.test(value));
  if (isSecret || (name === "code" && exchangeCode.test(value))) return [{ name, value }];
  if (!urlFields.test(name) || !URL.canParse(value)) return [];
  const { searchParams, hash } = new URL(value);
  const all = [...searchParams, ...new URLSearchParams(hash.slice(1))];
  const parameters = all.filter(
    ([parameter, each]) =>
      secretFields.test(parameter) || (!publicFields.test(parameter) && secretLooks.some((look) => look.test(each))),
  );
  return parameters.map(([parameter, each]) => ({ name: `${name} ${parameter}`, value: each }));
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
