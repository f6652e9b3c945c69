import { createHash, createHmac } from "node:crypto";

export type Credentials = { accessKeyId: string; secretAccessKey: string; sessionToken?: string | undefined };
/** What a role grants, until then. */
export type RoleCredentials = Credentials & { expiresAt: Date };

export const formType = "application/x-www-form-urlencoded; charset=utf-8";
const sessionName = "muster-audit";
const durationSeconds = 3_600;

type Signed = {
  host: string;
  /** With the query that the signature covers, in order. */
  query?: string;
  method: "GET" | "POST";
  region: string;
  service: string;
  headers: Readonly<Record<string, string>>;
  body: string;
};

/**
 * Headers of AWS's Signature Version 4 for a request to `/`: those given, `x-amz-date`, the session's token and
 * `authorization`; `host` is covered, too.
 */
export function signatureHeaders(request: Signed, by: Credentials, at: Date): Record<string, string> {
  const { host, query = "", method, region, service, body } = request;
  const time = at.toISOString().replace(/[-:]|\.\d{3}/g, "");
  const token: Record<string, string> = by.sessionToken ? { "x-amz-security-token": by.sessionToken } : {};
  const headers: Record<string, string> = { ...request.headers, "x-amz-date": time, ...token };
  const covered = Object.entries({ ...headers, host }).sort(([a], [b]) => (a < b ? -1 : 1));
  const names = covered.map(([name]) => name).join(";");
  const lines = covered.map(([name, value]) => `${name}:${value}\n`).join("");
  const scope = `${time.slice(0, 8)}/${region}/${service}/aws4_request`;
  const canonical = [method, "/", query, lines, names, sha256(body)].join("\n");
  const text = ["AWS4-HMAC-SHA256", time, scope, sha256(canonical)].join("\n");
  const key = [time.slice(0, 8), region, service, "aws4_request"].reduce<Buffer | string>(
    (secret, part) => hmac(secret, part),
    `AWS4${by.secretAccessKey}`,
  );
  const authorization = `AWS4-HMAC-SHA256 Credential=${by.accessKeyId}/${scope}, SignedHeaders=${names}, Signature=${hmac(key, text).toString("hex")}`;
  return { ...headers, authorization };
}

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");
const hmac = (key: Buffer | string, text: string) => createHmac("sha256", key).update(text).digest();

type Role = { roleArn: string; region: string; externalId: string };

/**
 * The request to AWS for a role's credentials. The external id is what a role's trust policy requires: no other
 * organization obtains that role.
 */
export function assumeRole({ roleArn, region, externalId }: Role, by: Credentials, at: Date) {
  const host = `sts.${region}.amazonaws.com`;
  const wanted = { Action: "AssumeRole", Version: "2011-06-15", RoleArn: roleArn, RoleSessionName: sessionName };
  const fields = { ...wanted, ExternalId: externalId, DurationSeconds: String(durationSeconds) };
  const body = new URLSearchParams(fields).toString();
  const signed = { host, method: "POST" as const, region, service: "sts", headers: {}, body };
  return { url: `https://${host}/`, headers: signatureHeaders(signed, by, at), body: Buffer.from(body) };
}

/** The credentials in an answer of AssumeRole; null when it has none. */
export function credentialsIn(answer: string): RoleCredentials | null {
  const of = (name: string) => new RegExp(`<${name}>([^<]+)</${name}>`).exec(answer)?.[1]?.trim() ?? "";
  const expiresAt = new Date(of("Expiration"));
  const [accessKeyId, secretAccessKey, sessionToken] = ["AccessKeyId", "SecretAccessKey", "SessionToken"].map(of);
  if (!accessKeyId || !secretAccessKey || !sessionToken || Number.isNaN(expiresAt.getTime())) return null;
  return { accessKeyId, secretAccessKey, sessionToken, expiresAt };
}
