import { EdgeError } from "../errors.ts";

/** The headers a request may act through; everything else is never looked at and never passed on. */
export type Inbound = {
  host: string | null;
  authorization: string | null;
  apiKey: string | null;
  contentType: string | null;
  contentEncoding: string | null;
  requestId: string | null;
  idempotencyKey: string | null;
  origin: string | null;
  fetchSite: string | null;
  userAgent: string | null;
  /** Read by rows that name a cookie, and by no other. */
  cookie: string | null;
  range: string | null;
  ifRange: string | null;
  ifMatch: string | null;
  ifNoneMatch: string | null;
  acceptEncoding: string | null;
  /** Each of these joined with commas when it came on several lines. */
  forwardedFor: string | null;
  realIp: string | null;
  edgeAddress: string | null;
};

type Field = keyof Inbound;
/**
 * `drop`: resembles internal metadata. `refuse`: a variant with underscores that a proxy may have let bypass its own
 * rules.
 */
type Kind = Field | "drop" | "refuse" | "ignore";

const fields: Record<string, Field> = {
  host: "host",
  authorization: "authorization",
  "x-api-key": "apiKey",
  "content-type": "contentType",
  "content-encoding": "contentEncoding",
  "x-request-id": "requestId",
  "idempotency-key": "idempotencyKey",
  origin: "origin",
  "sec-fetch-site": "fetchSite",
  "user-agent": "userAgent",
  cookie: "cookie",
  range: "range",
  "if-range": "ifRange",
  "if-match": "ifMatch",
  "if-none-match": "ifNoneMatch",
  "accept-encoding": "acceptEncoding",
  "x-forwarded-for": "forwardedFor",
  "x-real-ip": "realIp",
};

/** Besides `fields`: names whose underscore form is refused because something on the way might read it. */
const guarded = new Set([
  "content-length",
  "transfer-encoding",
  "connection",
  "x-forwarded-host",
  "x-forwarded-proto",
  "forwarded",
]);

const ours = /^(muster|x-muster|connect|grpc)-/;
const once: ReadonlySet<Kind> = new Set<Kind>([
  "host",
  "authorization",
  "apiKey",
  "contentType",
  "idempotencyKey",
  "origin",
  "fetchSite",
  "range",
  "ifRange",
]);
/** RFC 9110 section 7.2, without user information: a name or address, perhaps with a port. */
const hostForm = /^(?:[A-Za-z0-9._~!$&'()*+,;=-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?$/;
const safeRequestId = /^[A-Za-z0-9._~:@+=-]{1,128}$/;

/** Distinct spellings cached; clients may send any number of them. */
const maxCachedNames = 500;

export type HeaderReader = (rawHeaders: readonly string[]) => Inbound;

/**
 * Reads a request's raw header lines in one pass. Throws EdgeError `bad_request` on a repeated Host, Authorization,
 * X-API-Key, Content-Type, Idempotency-Key, Origin, Sec-Fetch-Site, Range or If-Range, on a missing Host and on
 * underscore aliases of names that mean something here.
 */
export function createHeaderReader(edgeAddressHeader: string | null): HeaderReader {
  const kinds = new Map<string, Kind>();

  const kindOf = (rawName: string): Kind => {
    const name = rawName.toLowerCase();
    if (name === edgeAddressHeader) return "edgeAddress";
    const field = fields[name];
    if (field && Object.hasOwn(fields, name)) return field;
    if (ours.test(name)) return "drop";
    if (!name.includes("_")) return "ignore";
    const alias = name.replaceAll("_", "-");
    const means = Object.hasOwn(fields, alias) || guarded.has(alias) || ours.test(alias) || alias === edgeAddressHeader;
    return means ? "refuse" : "ignore";
  };

  return (rawHeaders) => {
    const inbound: Inbound = {
      host: null,
      authorization: null,
      apiKey: null,
      contentType: null,
      contentEncoding: null,
      requestId: null,
      idempotencyKey: null,
      origin: null,
      fetchSite: null,
      userAgent: null,
      cookie: null,
      range: null,
      ifRange: null,
      ifMatch: null,
      ifNoneMatch: null,
      acceptEncoding: null,
      forwardedFor: null,
      realIp: null,
      edgeAddress: null,
    };
    for (let i = 0; i < rawHeaders.length; i += 2) {
      const rawName = rawHeaders[i] as string;
      let kind = kinds.get(rawName);
      if (kind === undefined) {
        kind = kindOf(rawName);
        if (kinds.size < maxCachedNames) kinds.set(rawName, kind);
      }
      if (kind === "ignore" || kind === "drop") continue;
      if (kind === "refuse") throw new EdgeError("bad_request", `Header ${rawName} is not accepted`);
      const value = rawHeaders[i + 1] as string;
      const before = inbound[kind];
      if (before === null) inbound[kind] = value;
      else if (once.has(kind)) throw new EdgeError("bad_request", `Header ${rawName} was sent more than once`);
      // Proxies split Cookie lines (RFC 9113 section 8.2.3).
      else inbound[kind] = `${before}${kind === "cookie" ? "; " : ", "}${value}`;
    }
    if (!inbound.host) throw new EdgeError("bad_request", "Header Host is required");
    if (!hostForm.test(inbound.host)) throw new EdgeError("bad_request", "Header Host is not a host name");
    return inbound;
  };
}

/** The caller's own request id when it is at most 128 safe characters, else null. */
export function acceptedRequestId(value: string | null): string | null {
  return value !== null && safeRequestId.test(value) ? value : null;
}

/** The X-Request-Id of a request whose other headers were refused. */
export function requestIdOf(rawHeaders: readonly string[]): string | null {
  for (let i = 0; i < rawHeaders.length; i += 2) {
    if (rawHeaders[i]?.toLowerCase() === "x-request-id") return acceptedRequestId(rawHeaders[i + 1] ?? null);
  }
  return null;
}
