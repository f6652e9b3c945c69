import type { IncomingMessage, ServerResponse } from "node:http";
import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import { validationError } from "@muster/kit";
import { EdgeError } from "../errors.ts";
import type { Inbound } from "./headers.ts";
import { isJsonType } from "./media-type.ts";
import { parseQuery } from "./query.ts";

/** Nesting that a JSON body may have. */
export const maxJsonDepth = 32;

/** What is read beyond the cap, so that a client that sends first and reads later still gets its 413. */
const overrunBytes = 8 * 1024 * 1024;

/** In Unicode mode only an unpaired half matches. */
const loneSurrogate = /\p{Surrogate}/u;
const utf8 = new TextDecoder("utf-8", { fatal: true });

const tooLarge = (limitBytes: number) =>
  new EdgeError("payload_too_large", `Request body is larger than ${limitBytes} bytes`);

/** Whether the request announces a body (RFC 9112 section 6). */
export function hasBody(request: IncomingMessage): boolean {
  const length = request.headers["content-length"];
  return request.headers["transfer-encoding"] !== undefined || (length !== undefined && length !== "0");
}

/** Refuses by the announced length alone; nothing has been read. Throws EdgeError `payload_too_large`. */
export function checkAnnouncedLength(request: IncomingMessage, limitBytes: number): void {
  const length = request.headers["content-length"];
  if (length !== undefined && Number(length) > limitBytes) throw tooLarge(limitBytes);
}

/** A JSON body, and the bytes that it was read from. */
export type JsonBody = { value: unknown; bytes: Uint8Array };

const emptyBody: JsonBody = { value: {}, bytes: Buffer.from("{}") };

/**
 * The request's JSON body as UTF-8; no body is `{}`. Throws EdgeError `unsupported_media_type`, `payload_too_large` or
 * `invalid_json`, `bad_request` for broken gzip where that is taken, and AppError `validation_failed` for what parses but no store could keep.
 */
export async function readJson(
  request: IncomingMessage,
  response: ServerResponse,
  inbound: Inbound,
  limitBytes: number,
  takesGzip = false,
): Promise<JsonBody> {
  if (!hasBody(request)) return emptyBody;
  if (inbound.contentType === null || !isJsonType(inbound.contentType)) {
    throw new EdgeError("unsupported_media_type", "Request body must be application/json");
  }
  const encoding = inbound.contentEncoding?.toLowerCase() ?? "identity";
  const isGzip = takesGzip && (encoding === "gzip" || encoding === "x-gzip");
  if (encoding !== "identity" && !isGzip) {
    throw new EdgeError("unsupported_media_type", "Content-Encoding is not accepted here");
  }
  if (request.headers.expect?.toLowerCase() === "100-continue") response.writeContinue();
  const sent = await readBytes(request, limitBytes);
  const bytes = isGzip ? await inflate(sent, limitBytes) : sent;
  return bytes.length === 0 ? emptyBody : { value: parseJson(bytes), bytes };
}

const formType = /^application\/x-www-form-urlencoded\s*(?:;\s*charset\s*=\s*"?utf-8"?\s*)?;?\s*$/i;

/**
 * The request's form as texts by name; a repeated name holds all its values. Throws EdgeError `unsupported_media_type`,
 * `payload_too_large`, and AppError `validation_failed` for text that no store could keep.
 */
export async function readForm(
  request: IncomingMessage,
  response: ServerResponse,
  inbound: Inbound,
  limitBytes: number,
): Promise<JsonBody> {
  if (!hasBody(request)) return emptyBody;
  const isForm = inbound.contentType !== null && formType.test(inbound.contentType);
  const isPlain = (inbound.contentEncoding?.toLowerCase() ?? "identity") === "identity";
  if (!(isForm && isPlain)) {
    throw new EdgeError("unsupported_media_type", "Request body must be application/x-www-form-urlencoded");
  }
  if (request.headers.expect?.toLowerCase() === "100-continue") response.writeContinue();
  const bytes = await readBytes(request, limitBytes);
  const value = { ...parseQuery(bytes.toString("latin1")) };
  checkStorable(value, "", 1);
  return { value, bytes };
}

const gunzipped = promisify(gunzip);

/** The inflated body, which keeps within the same limit: a small body that would become a large one is stopped on the way. */
async function inflate(bytes: Buffer, limitBytes: number): Promise<Buffer> {
  try {
    return await gunzipped(bytes, { maxOutputLength: limitBytes });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE") throw tooLarge(limitBytes);
    throw new EdgeError("bad_request", "Request body is not valid gzip");
  }
}

/** After a refusal by size: reads on, within bounds, so that the client comes to read its reply. */
export async function drainOverrun(request: IncomingMessage): Promise<void> {
  const announced = Number(request.headers["content-length"] ?? Number.POSITIVE_INFINITY);
  const waits = request.headers.expect !== undefined;
  if (request.complete || request.destroyed || waits || announced > overrunBytes) return;
  await new Promise<void>((resolve) => {
    request.once("end", resolve);
    request.once("close", resolve);
    request.resume();
  });
}

/** Bytes in memory, never more than the cap. Throws EdgeError `payload_too_large`, `bad_request` when the client leaves. */
function readBytes(request: IncomingMessage, limitBytes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    let chunks: Buffer[] = [];
    let size = 0;
    request.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (size <= limitBytes) chunks.push(chunk);
      else {
        chunks = [];
        if (size > limitBytes + overrunBytes) reject(tooLarge(limitBytes));
      }
    });
    request.on("end", () => (size > limitBytes ? reject(tooLarge(limitBytes)) : resolve(Buffer.concat(chunks))));
    // The socket is gone or its framing broke: nobody reads the reply, the parser has answered.
    request.on("error", () => reject(new EdgeError("bad_request", "Request body was cut off")));
    request.on("close", () => reject(new EdgeError("bad_request", "Request body was cut off")));
  });
}

/** Throws EdgeError `invalid_json` on broken UTF-8 or JSON, AppError `validation_failed` on text or nesting we refuse. */
export function parseJson(bytes: Buffer): unknown {
  if (bytes.length === 0) return {};
  let value: unknown;
  let text: string;
  try {
    text = utf8.decode(bytes);
    value = JSON.parse(text);
  } catch {
    throw new EdgeError("invalid_json", "Request body is not valid JSON");
  }
  // Valid UTF-8 and valid JSON: only an escape or a number could still hide what no store takes.
  const plain = !text.includes("\\u") && !text.includes("__proto__");
  if (!plain || !hasDoublesOnly(value, 1)) checkStorable(value, "", 1);
  return value;
}

/** Whether every number is one that a double holds: JSON can say 1e400, which is read as Infinity and written as null. */
function hasDoublesOnly(value: unknown, depth: number): boolean {
  if (typeof value === "number") return Number.isFinite(value);
  if (typeof value !== "object" || value === null) return true;
  if (depth > maxJsonDepth) throw validationError({}, [`Nested deeper than ${maxJsonDepth} levels`]);
  for (const inner of Array.isArray(value) ? value : Object.values(value)) {
    if (!hasDoublesOnly(inner, depth + 1)) return false;
  }
  return true;
}

/** PostgreSQL keeps neither U+0000 nor lone surrogates, no double a number beyond its range; `__proto__` has no honest use. */
function checkStorable(value: unknown, path: string, depth: number): void {
  const problem = typeof value === "string" ? textProblem(value) : numberProblem(value);
  if (problem) throw path === "" ? validationError({}, [problem]) : validationError({ [path]: [problem] });
  if (typeof value !== "object" || value === null) return;
  if (depth > maxJsonDepth) throw validationError({}, [`Nested deeper than ${maxJsonDepth} levels`]);
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) checkStorable(value[i], path === "" ? `${i}` : `${path}.${i}`, depth + 1);
    return;
  }
  for (const key of Object.keys(value)) {
    if (key === "__proto__" || textProblem(key)) throw validationError({}, ["A key of the body is not allowed"]);
    checkStorable((value as Record<string, unknown>)[key], path === "" ? key : `${path}.${key}`, depth + 1);
  }
}

function numberProblem(value: unknown): string | null {
  const isBeyond = typeof value === "number" && !Number.isFinite(value);
  return isBeyond ? "Must be a number between -1.8e308 and 1.8e308" : null;
}

/** Why a text cannot be stored, or null. */
export function textProblem(text: string): string | null {
  if (text.includes("\0")) return "Must not contain NUL characters";
  return loneSurrogate.test(text) ? "Must be well-formed Unicode" : null;
}
