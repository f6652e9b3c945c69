import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { listening } from "@muster/testing";

/**
 * A bucket of S3's protocol as far as binaries need it: PUT, GET with a range, DELETE, each checked by its signature
 * (AWS Signature Version 4).
 */
export type Bucket = { endpoint: string; objects: Map<string, Buffer>; close(): Promise<void> };

const hmac = (key: string | Buffer, text: string) => createHmac("sha256", key).update(text).digest();
const sha256 = (data: string | Buffer) => createHash("sha256").update(data).digest("hex");
/** URI encoding of SigV4: encodeURIComponent, and the characters it does not encode. */
const encoded = (text: string) =>
  encodeURIComponent(text).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);

/** Serves one bucket to clients that sign with these credentials. */
export async function startBucket(accessKeyId: string, secretAccessKey: string): Promise<Bucket> {
  const objects = new Map<string, Buffer>();

  const answer = (request: IncomingMessage, response: ServerResponse, body: Buffer) => {
    const url = new URL(request.url ?? "", "http://any");
    const failure = failureOf(request, url, body, { accessKeyId, secretAccessKey });
    if (failure) return refuse(response, 403, failure);
    const key = decodeURIComponent(url.pathname);
    if (request.method === "PUT") {
      const wanted = request.headers["x-amz-checksum-sha256"];
      const isOther = typeof wanted === "string" && wanted !== createHash("sha256").update(body).digest("base64");
      if (isOther) return refuse(response, 400, "BadDigest");
      objects.set(key, body);
      return response.writeHead(200).end();
    }
    if (request.method === "DELETE") {
      objects.delete(key);
      return response.writeHead(204).end();
    }
    const bytes = objects.get(key);
    if (!bytes) return refuse(response, 404, "NoSuchKey");
    const headers: Record<string, string> = { "content-type": "application/octet-stream" };
    const disposition = url.searchParams.get("response-content-disposition");
    if (disposition) headers["content-disposition"] = disposition;
    const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? "") ?? [];
    if (from === undefined) return response.writeHead(200, headers).end(bytes);
    const part = bytes.subarray(Number(from), Number(to) + 1);
    return response.writeHead(206, { ...headers, "content-range": `bytes ${from}-${to}/${bytes.length}` }).end(part);
  };

  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => answer(request, response, Buffer.concat(chunks)));
  });
  const at = await listening(server);
  return { endpoint: `http://127.0.0.1:${at.port}`, objects, close: at.close };
}

function refuse(response: ServerResponse, status: number, code: string): void {
  response.writeHead(status, { "content-type": "application/xml" });
  response.end(`<?xml version="1.0" encoding="UTF-8"?><Error><Code>${code}</Code><Message>${code}</Message></Error>`);
}

/** Null when the request is signed, in its headers or in its URL. */
function failureOf(
  request: IncomingMessage,
  url: URL,
  body: Buffer,
  credentials: { accessKeyId: string; secretAccessKey: string },
): string | null {
  const header = /^AWS4-HMAC-SHA256 Credential=([^,]+), ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]+)$/.exec(
    request.headers.authorization ?? "",
  );
  const of = (name: string) => url.searchParams.get(`X-Amz-${name}`) ?? "";
  const [, credential = of("Credential"), signedHeaders = of("SignedHeaders"), signature = of("Signature")] =
    header ?? [];
  const [keyId = "", day = "", region = "", service = ""] = credential.split("/");
  if (keyId !== credentials.accessKeyId) return "InvalidAccessKeyId";
  const time = header ? String(request.headers["x-amz-date"]) : of("Date");
  const startedMs = Date.parse(time.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, "$1-$2-$3T$4:$5:$6Z"));
  if (!header && !(Date.now() < startedMs + Number(of("Expires")) * 1000)) return "AccessDenied";
  const payload = header ? String(request.headers["x-amz-content-sha256"]) : "UNSIGNED-PAYLOAD";
  if (/^[0-9a-f]{64}$/.test(payload) && payload !== sha256(body)) return "XAmzContentSHA256Mismatch";
  const query = [...url.searchParams]
    .filter(([name]) => name !== "X-Amz-Signature")
    .map(([name, value]) => `${encoded(name)}=${encoded(value)}`)
    .sort()
    .join("&");
  const headers = signedHeaders.split(";").map((name) => `${name}:${String(request.headers[name] ?? "").trim()}\n`);
  const canonical = [request.method, url.pathname, query, headers.join(""), signedHeaders, payload].join("\n");
  const scope = `${day}/${region}/${service}/aws4_request`;
  const signing = [day, region, service, "aws4_request"].reduce<string | Buffer>(
    hmac,
    `AWS4${credentials.secretAccessKey}`,
  );
  const expected = hmac(signing as Buffer, ["AWS4-HMAC-SHA256", time, scope, sha256(canonical)].join("\n"));
  const sent = Buffer.from(signature, "hex");
  return sent.length === expected.length && timingSafeEqual(sent, expected) ? null : "SignatureDoesNotMatch";
}
