import { EdgeError } from "../errors.ts";

export type Target = {
  /** Begins with "/", no trailing slash, percent-encoding checked but kept: the one string that is routed on. */
  path: string;
  /** Without the "?"; empty when there is none. */
  query: string;
  /** Segments (from 0) that hold an encoded slash; null when none does. The row decides whether it accepts them. */
  slashSegments: readonly number[] | null;
};

const refuse = (why: string): never => {
  throw new EdgeError("bad_request", why);
};

const slash = 47;
const dot = 46;
const percent = 37;
const question = 63;
const backslash = 92;
const hash = 35;

/**
 * Checks and parses a request target once, before routing. Throws EdgeError `bad_request` for all but the origin form
 * (RFC 9112 section 3.2.1) and for `..`, `.` segments, `//`, `\`, `%5c`, `%00`, broken percent-encoding.
 */
export function parseTarget(target: string): Target {
  if (target.charCodeAt(0) !== slash) refuse("Request target must begin with /");
  let end = target.length;
  let encoded = false;
  for (let i = 0; i < end; i++) {
    const code = target.charCodeAt(i);
    if (code <= 0x20 || code >= 0x7f || code === hash) refuse("Request target has a character that is not allowed");
    if (code === question) {
      end = i;
      break;
    }
    if (code === percent) encoded = true;
    else if (code === backslash) refuse("Path must not contain a backslash");
    else if (code === slash && i > 0 && target.charCodeAt(i - 1) === slash) refuse("Path must not contain //");
    else if (code === dot && isDotSegment(target, i)) refuse("Path must not contain . or .. segments");
  }
  const query = end < target.length ? checkedQuery(target, end + 1) : "";
  const pathEnd = end > 1 && target.charCodeAt(end - 1) === slash ? end - 1 : end;
  const path = pathEnd === target.length ? target : target.slice(0, pathEnd);
  return { path, query, slashSegments: encoded ? checkEncoded(path) : null };
}

/** Whether the dot at i begins a segment `.`, or the path holds `..` there, alone or not (`..;`, `...`). */
function isDotSegment(target: string, i: number): boolean {
  const next = target.charCodeAt(i + 1);
  if (next === dot) return true;
  const ends = Number.isNaN(next) || next === slash || next === question;
  return ends && target.charCodeAt(i - 1) === slash;
}

/**
 * A target of only "%00" and control characters below is refused; everything else in a query is the schema's business.
 */
function checkedQuery(target: string, from: number): string {
  const query = target.slice(from);
  for (let i = 0; i < query.length; i++) {
    const code = query.charCodeAt(i);
    if (code <= 0x20 || code >= 0x7f || code === hash) refuse("Request target has a character that is not allowed");
  }
  if (query.includes("%00")) refuse("Request target must not contain %00");
  return query;
}

/** Decodes each segment once, to see what routing and parameters will see. */
function checkEncoded(path: string): number[] | null {
  const withSlash: number[] = [];
  path
    .slice(1)
    .split("/")
    .forEach((segment, index) => {
      if (!segment.includes("%")) return;
      let text = "";
      try {
        text = decodeURIComponent(segment);
      } catch (cause) {
        if (cause instanceof URIError) refuse("Path has broken percent-encoding");
        throw cause;
      }
      if (text.includes("\\")) refuse("Path must not contain an encoded backslash");
      if (text.includes("\0")) refuse("Request target must not contain %00");
      if (text === "." || text.includes("..")) refuse("Path must not contain . or .. segments");
      if (text.includes("/")) {
        // Decoded, the parameter must be as harmless as the path around it.
        if (text.includes("//") || text.split("/").includes(".")) refuse("Path must not contain //");
        withSlash.push(index);
      }
    });
  return withSlash.length > 0 ? withSlash : null;
}
