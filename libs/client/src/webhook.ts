export type VerifyOptions = {
  /** How far the clocks of sender and receiver may differ; default 300 s. */
  toleranceSeconds?: number;
  now?: () => Date;
};

type HeaderSource = Headers | Readonly<Record<string, string | string[] | undefined>>;

const encoder = new TextEncoder();

/**
 * Whether a delivery comes from the webhook with this secret and is fresh (Standard Webhooks: `webhook-id`,
 * `webhook-timestamp`,
 * `webhook-signature`). `body` is the raw body as it arrived, never JSON that was parsed and written again.
 */
export async function verifyWebhook(
  secret: string,
  headers: HeaderSource,
  body: string | Uint8Array,
  { toleranceSeconds = 300, now = () => new Date() }: VerifyOptions = {},
): Promise<boolean> {
  const id = headerOf(headers, "webhook-id");
  const timestamp = headerOf(headers, "webhook-timestamp");
  const signatures = headerOf(headers, "webhook-signature");
  if (!id || !timestamp || !signatures || secret === "" || !/^\d{1,12}$/.test(timestamp)) return false;
  if (Math.abs(now().getTime() / 1_000 - Number(timestamp)) > toleranceSeconds) return false;
  const key = await crypto.subtle.importKey("raw", keyOf(secret), { name: "HMAC", hash: "SHA-256" }, false, ["verify"]);
  const head = encoder.encode(`${id}.${timestamp}.`);
  const content = typeof body === "string" ? encoder.encode(body) : body;
  const signed = new Uint8Array(head.length + content.length);
  signed.set(head);
  signed.set(content, head.length);
  // While a secret is rotated there are several.
  for (const signature of signatures.split(" ").slice(0, 10)) {
    const mac = signature.startsWith("v1,") ? bytesOf(signature.slice(3)) : null;
    if (mac && (await crypto.subtle.verify("HMAC", key, mac, signed))) return true;
  }
  return false;
}

function keyOf(secret: string): Uint8Array<ArrayBuffer> {
  const decoded = secret.startsWith("whsec_") ? bytesOf(secret.slice("whsec_".length)) : null;
  return decoded ?? encoder.encode(secret);
}

function bytesOf(base64: string): Uint8Array<ArrayBuffer> | null {
  try {
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  } catch {
    return null;
  }
}

function headerOf(headers: HeaderSource, name: string): string | null {
  if (headers instanceof Headers) return headers.get(name);
  const value = headers[name] ?? headers[Object.keys(headers).find((key) => key.toLowerCase() === name) ?? name];
  return (Array.isArray(value) ? value[0] : value) ?? null;
}
