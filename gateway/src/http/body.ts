import type { IncomingMessage } from "node:http";
import { changedNumbers, invalidJson, memberText, textError, validationError } from "@muster/kit";
import { EdgeError } from "../errors.ts";
import type { Inbound } from "../request/headers.ts";
import { overrunBytes, payloadTooLarge } from "./bodies.ts";
import { isFormType, jsonMediaType, mediaTypeOf } from "./media-type.ts";
import { parseQuery } from "./query.ts";

/** Nesting that a JSON body may have. */
export const maxJsonDepth = 32;

/** Pairs of a form that are read. */
const maxFormPairs = 100;
const changedNumber = "Not a number that a 64-bit float keeps: send it as text";
const utf8 = new TextDecoder("utf-8", { fatal: true });

/** Whether the request announces a body (RFC 9112 section 6). */
export function hasBody(request: IncomingMessage): boolean {
  const length = request.headers["content-length"];
  return request.headers["transfer-encoding"] !== undefined || (length !== undefined && length !== "0");
}

/**
 * Refuses by the announced length alone, `overrun` bytes beyond the limit; nothing has been read. Throws EdgeError
 * `payload_too_large`.
 */
export function checkAnnouncedLength(request: IncomingMessage, limitBytes: number, overrun: number): void {
  const length = request.headers["content-length"];
  if (length !== undefined && Number(length) > limitBytes + overrun) throw payloadTooLarge(limitBytes);
}

/** How a route accepts its body. */
export type BodyRules = { isForm: boolean; takesGzip: boolean; raw: readonly string[] | null };

/** A body, the bytes that it was read from, and its text if it is JSON. */
export type Body = { value: unknown; bytes: Uint8Array; text: string };

export const emptyBody: Body = { value: {}, bytes: Buffer.from("{}"), text: "{}" };

/**
 * Checks a body by the head of its request, before it is received: type and encoding. Returns whether it is compressed.
 * Throws EdgeError `unsupported_media_type`.
 */
export function checkBodyHead(
  { contentType, contentEncoding }: Inbound,
  { isForm, takesGzip, raw }: BodyRules,
): { isGzip: boolean } {
  const encoding = contentEncoding?.toLowerCase() ?? "identity";
  const isGzip = takesGzip && !isForm && (encoding === "gzip" || encoding === "x-gzip");
  if (isForm && (contentType === null || !isFormType(contentType) || encoding !== "identity")) {
    throw new EdgeError("unsupported_media_type", "Request body must be application/x-www-form-urlencoded");
  }
  if (!isForm && (contentType === null || mediaTypeOf(contentType, raw ?? [jsonMediaType]) === null)) {
    const types = (raw ?? [jsonMediaType]).join(" or ");
    throw new EdgeError("unsupported_media_type", `Request body must be ${types}`);
  }
  if (encoding !== "identity" && !isGzip) {
    throw new EdgeError("unsupported_media_type", "Content-Encoding is not accepted here");
  }
  return { isGzip };
}

/** The JSON of a body that has been received; nothing is `{}`. Throws as `parseJson`. */
export function readJson(bytes: Buffer): Body {
  return bytes.length === 0 ? emptyBody : { ...parseJson(bytes), bytes };
}

/**
 * The texts of a form by name; a repeated name holds all its values. Throws AppError `validation_failed` for text that
 * no store could keep.
 */
export function readForm(bytes: Buffer): Body {
  const value = { ...parseQuery(bytes.toString("latin1"), maxFormPairs) };
  checkStorable(value, "", 1);
  return { value, bytes, text: "" };
}

/**
 * Whether a client whose body was refused by size is still sending, so that its reply would be lost if reading
 * stopped.
 */
export function isStillSending(request: IncomingMessage): boolean {
  const announced = Number(request.headers["content-length"] ?? Number.POSITIVE_INFINITY);
  const waits = request.headers.expect !== undefined;
  return !(request.complete || request.destroyed || waits || announced > overrunBytes);
}

/**
 * Throws AppError `invalid_json` on broken UTF-8 or JSON, `validation_failed` on text or nesting we refuse.
 */
function parseJson(bytes: Buffer): Omit<Body, "bytes"> {
  let value: unknown;
  let text: string;
  try {
    text = utf8.decode(bytes);
    value = JSON.parse(text);
  } catch {
    throw invalidJson();
  }
  // Valid UTF-8 and valid JSON: only an escape or a number could still contain a value that no store accepts.
  const plain = !text.includes("\\u") && !text.includes("__proto__");
  if (!plain || !hasDoublesOnly(value, 1)) checkStorable(value, "", 1);
  return { value, text };
}

/**
 * A member of a JSON object that a body is, as it was posted: its numbers, order, names and space; empty when there is
 * none. Throws AppError `validation_failed` for nesting that the parsed body does not show, behind a repeated name.
 */
export function opaqueMember({ text }: Pick<Body, "text">, name: string): string {
  return memberText(text, name, maxJsonDepth) ?? "";
}

/**
 * Throws AppError `validation_failed` naming each number of these members that JSON.parse changed: what is understood
 * and stored must not differ from what was sent.
 */
export function checkNumbers({ text }: Pick<Body, "text">, members: readonly string[]): void {
  const paths = members.length === 0 ? [] : changedNumbers(text, members);
  if (paths.length > 0) throw validationError(Object.fromEntries(paths.map((path) => [path, [changedNumber]])));
}

/** Whether every number fits a double: JSON permits 1e400, which is parsed as Infinity and serialised as null. */
function hasDoublesOnly(value: unknown, depth: number): boolean {
  if (typeof value === "number") return Number.isFinite(value);
  if (typeof value !== "object" || value === null) return true;
  if (depth > maxJsonDepth) throw validationError({}, [`Nested deeper than ${maxJsonDepth} levels`]);
  for (const inner of Array.isArray(value) ? value : Object.values(value)) {
    if (!hasDoublesOnly(inner, depth + 1)) return false;
  }
  return true;
}

/**
 * PostgreSQL stores no U+0000 and no lone surrogates, a double no number beyond its range; `__proto__` has no
 * legitimate use.
 */
function checkStorable(value: unknown, path: string, depth: number): void {
  const problem = typeof value === "string" ? textError(value) : numberProblem(value);
  if (problem) throw path === "" ? validationError({}, [problem]) : validationError({ [path]: [problem] });
  if (typeof value !== "object" || value === null) return;
  if (depth > maxJsonDepth) throw validationError({}, [`Nested deeper than ${maxJsonDepth} levels`]);
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) checkStorable(value[i], path === "" ? `${i}` : `${path}.${i}`, depth + 1);
    return;
  }
  for (const key of Object.keys(value)) {
    if (key === "__proto__" || textError(key)) throw validationError({}, ["A key of the body is not allowed"]);
    checkStorable((value as Record<string, unknown>)[key], path === "" ? key : `${path}.${key}`, depth + 1);
  }
}

function numberProblem(value: unknown): string | null {
  const isBeyond = typeof value === "number" && !Number.isFinite(value);
  return isBeyond ? "Must be a number between -1.8e308 and 1.8e308" : null;
}
