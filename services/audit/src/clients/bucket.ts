import { createHash } from "node:crypto";
import { Readable } from "node:stream";
import type { Credentials } from "../rules/assume-role.ts";
import type { Bucket } from "../rules/bucket.ts";
import type { Pushed } from "./webhook-pushes.ts";

export type BucketRequest = { url: string; method: "PUT"; headers: { key: string; value: string }[]; body: Buffer };
/** One request through the dispatcher; throws AppError when nothing was sent. */
export type SendToBucket = (request: BucketRequest) => Promise<Pushed>;

const contentType = "application/gzip";

/**
 * Puts an object into a bucket of a customer: signed by the S3 client, sent by the dispatcher, which alone reaches
 * receivers. Resolves to what the storage answered.
 */
export async function putIntoBucket(
  where: Omit<Bucket, "accessKeyId" | "roleArn">,
  credentials: Credentials,
  key: string,
  body: Buffer,
  send: SendToBucket,
): Promise<Pushed> {
  // Loaded only where it is used: the SDK is large.
  const { PutObjectCommand, s3Client } = await import("@muster/egress/s3");
  const { bucket, region, endpoint, pathStyle } = where;
  const sent: { pushed: Pushed | null } = { pushed: null };
  const requestHandler = {
    async handle(request: SignedRequest) {
      const pushed = await send(requestOf(request, body));
      sent.pushed = pushed;
      return { response: { statusCode: pushed.status ?? 599, headers: {}, body: Readable.from([pushed.body]) } };
    },
  };
  const client = s3Client(
    { region, endpoint, pathStyle, credentials },
    { timeoutMs: 30_000, maxAttempts: 1, requestHandler },
  );
  const ChecksumSHA256 = createHash("sha256").update(body).digest("base64");
  const command = { Bucket: bucket, Key: where.prefix + key, Body: body, ContentType: contentType, ChecksumSHA256 };
  try {
    await client.send(new PutObjectCommand(command));
  } catch (error) {
    // The storage's own answer says more than the error that the client makes of it.
    if (sent.pushed === null) throw error;
  } finally {
    client.destroy();
  }
  if (sent.pushed === null) throw new Error("the S3 client sent nothing");
  return sent.pushed;
}

type SignedRequest = {
  protocol: string;
  hostname: string;
  port?: number;
  path: string;
  query?: Record<string, string | string[] | null>;
  headers: Record<string, string>;
};

function requestOf(
  { protocol, hostname, port, path, query = {}, headers }: SignedRequest,
  body: Buffer,
): BucketRequest {
  const parameters = Object.entries(query).flatMap(([name, values]) =>
    [values].flat().map((value) => `${encodeURIComponent(name)}=${encodeURIComponent(value ?? "")}`),
  );
  const search = parameters.length > 0 ? `?${parameters.join("&")}` : "";
  const url = `${protocol}//${hostname}${port ? `:${port}` : ""}${path}${search}`;
  return { url, method: "PUT", headers: Object.entries(headers).map(([key, value]) => ({ key, value })), body };
}
