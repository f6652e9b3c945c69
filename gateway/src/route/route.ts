import type { CallOptions } from "@connectrpc/connect";
import type { KeyScope, Permission, PortalCapability, RequestMeta, Scope } from "@muster/kit";
import { z } from "zod";
import type { PublicCode } from "../errors.ts";
import type { BodyEnds } from "../request/body-ends.ts";
import type { Inbound } from "../request/headers.ts";
import type { Agent, DirectoryClient, KeyHolder, PortalHolder, Session } from "./credential.ts";
import type { Deps } from "./deps.ts";
import type { Answered, AnsweredStatus, Rendered, Streamed } from "./reply.ts";
import type { Tag } from "./tags.ts";

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/** What a user of each scope needs. */
export type PermissionByScope = Readonly<Record<Scope, Permission>>;

/** The permission that a route asks of users of a scope; undefined for none. */
export function permissionFor(access: Access, scope: Scope): Permission | undefined {
  if (access.auth !== "session" || access.permission === undefined) return undefined;
  return typeof access.permission === "string" ? access.permission : access.permission[scope];
}

/** Who may call a route. */
export type Access =
  | { auth: "none" }
  /** The session of a caller who presents one; a request without a session is admitted, too. */
  | { auth: "optional" }
  /** The agent of the device that `:id` names, and no other caller. */
  | {
      auth: "agent";
      /** Served also while its device is quarantined. */
      whileQuarantined?: true;
    }
  /** A directory, by its token, and no other caller. */
  | { auth: "directory" }
  /** Any signed-in user, and any API key whatever its scopes. */
  | { auth: "any"; whileInactive?: true }
  | {
      auth: "session";
      /** The user's role has it; several where it depends on the caller's scope. */
      permission?: Permission | PermissionByScope;
      /** A second factor was completed in this session, recently enough. */
      mfa?: true;
      /** The caller's scope is one of these. */
      scopes?: readonly Scope[];
      /** API keys that hold one of these, or `*`, are accepted, too; without it the route accepts sessions only. */
      keyScopes?: readonly KeyScope[];
      /** Portal sessions are accepted, too: each, or those that have this capability; without it the route is none. */
      portal?: "view" | PortalCapability;
      /** Served also while the caller's partner or organization is not active. */
      whileInactive?: true;
      /** Served also to a session that lacks the second factor which its user's tenant requires. */
      beforeSecondFactor?: true;
    };

/** Milliseconds that a request of each class may take, including all calls to services. */
export const deadlinesMs = {
  default: 10_000,
  health: 2_000,
  live: 35_000,
  report: 30_000,
  export: 300_000,
  stream: 300_000,
} as const;
export type DeadlineClass = keyof typeof deadlinesMs;

/** Names of limits per address on routes; a setting holds the number of requests of each. */
export type AddressLimit = "sso" | "portal";

/**
 * What a busy gateway sheds first: binaries, then exports and sync, then streams of what changes, then enrollments,
 * agents' ingest, then users and keys. Health, sign-in and revocation are `vital`: never shed.
 */
export type LoadClass = "download" | "export" | "stream" | "enrollment" | "ingest" | "interactive" | "vital";

type CredentialOf<A extends Access> = A extends { auth: "none" }
  ? null
  : A extends { auth: "optional" }
    ? Session | null
    : A extends { auth: "agent" }
      ? Agent
      : A extends { auth: "directory" }
        ? DirectoryClient
        : A extends { portal: "view" | PortalCapability }
          ? Session | KeyHolder | PortalHolder
          : A extends { auth: "any" } | { keyScopes: readonly KeyScope[] }
            ? Session | KeyHolder
            : Session;

/**
 * What a handler gets. `rpc()` makes the options of each call made for this request: caller, metadata, deadline,
 * signal.
 */
export type RouteRequest<A extends Access = Access, P = unknown, Q = unknown, B = unknown> = {
  session: CredentialOf<A>;
  params: P;
  query: Q;
  body: B;
  /** The bytes of the body, inflated, for services that parse it themselves. */
  bodyBytes: Uint8Array;
  /** The one of the row's `raw` types that the body has; null without a body, and on rows without these. */
  mediaType: string | null;
  /** JSON text of the member that the row names as `opaque`, exactly as it was posted; empty when it is absent. */
  opaqueJson: string;
  /** The value of the cookie that the route names; null when it is absent or sent twice. */
  cookie: string | null;
  /** Conditions and range of a download (RFC 9110 sections 13 and 14); HEAD has no range. */
  conditions(): Pick<Inbound, "range" | "ifRange" | "ifMatch" | "ifNoneMatch">;
  rpc(): Promise<CallOptions>;
  /** Whether a browser states that a page of this origin sent the request. */
  sameOrigin(): boolean;
  /** Where the request came from, for what is passed on later than it. */
  meta(): RequestMeta;
  /**
   * Whether the caller would still be admitted, with the same identity, rights and tenants; false while the gateway
   * stops, too. For replies that take minutes.
   */
  isStillAdmitted(): Promise<boolean>;
  /**
   * Calls `end` once when the caller is no longer admitted, within a second of a revocation, or when that cannot be
   * verified. Until stopped.
   */
  whileAdmitted(end: () => void): { stop(): void };
};

/** An answer of a row besides its usual one, for the OpenAPI document. */
export type AnswerDescription = { description: string; headers?: Readonly<Record<string, string>> };

type Output<S> = S extends z.ZodType ? z.output<S> : undefined;
type Maybe<T> = T | Promise<T>;

/** A refused request of a row that answers for itself. */
export type Refusal = {
  code: PublicCode;
  /** Of the body, as far as it was received. */
  ends: BodyEnds | null;
  rpc: RouteRequest["rpc"];
};

/** One endpoint, as data: serving, checks, OpenAPI and the test against e2e/interface-rows all read it. */
export type RouteDefinition<
  A extends Access,
  P extends z.ZodObject | undefined,
  Q extends z.ZodObject | undefined,
  B extends z.ZodType | undefined,
  R extends z.ZodType,
> = {
  method: Method;
  /** Below `/api/v1`, or below the root with `atRoot`. Parameters as `:name`. */
  path: string;
  atRoot?: true;
  access: A;
  summary: string;
  description?: string;
  tag: Tag;
  params?: P;
  /** Names of parameters whose value may hold an encoded slash. */
  slashes?: readonly string[];
  query?: Q;
  body?: B;
  /** Further spellings of fields of the body, which are read where the documented one is absent; not documented. */
  aliases?: Readonly<Record<string, string>>;
  /** A valid body for the OpenAPI document and the isolation matrix; made from the schema when absent. */
  example?: B extends z.ZodType ? z.input<B> : undefined;
  /**
   * The member of the body that belongs to others: an object which the handler passes on as `opaqueJson`, since what is
   * parsed and written anew has other numbers, order and space.
   */
  opaque?: B extends z.ZodObject ? Extract<keyof z.output<B>, string> : never;
  /** Bytes of the body; 64 KiB when absent. */
  bodyLimitBytes?: number;
  /** The body is a form (`application/x-www-form-urlencoded`) instead of JSON. */
  form?: true;
  /**
   * Media types of a body that the service behind the row parses and validates: the handler gets `bodyBytes`, and
   * `body` only documents what is JSON.
   */
  raw?: readonly string[];
  /** Name of the one cookie that the handler gets. */
  cookie?: string | ((deps: Pick<Deps, "publicUrl">) => string);
  /** Requests per minute that one address may make to this route; a setting of the gateway holds the number. */
  perAddressPerMinute?: AddressLimit;
  /** The body may be compressed; on agents' rows it may be anyway. */
  gzip?: true;
  deadline?: DeadlineClass;
  /** Accepts an `Idempotency-Key`: the RPC behind it stores its reply. Every other POST refuses the header. */
  idempotent?: true;
  /** `interactive` when absent. */
  load?: LoadClass;
  /** A public route whose requests are expensive: concurrent ones start one after the other. */
  queued?: true;
  /** The reply carries a secret: `Cache-Control: no-store`. */
  noStore?: true;
  /** The address of this row, or where it sends a browser, holds a secret: `Referrer-Policy: no-referrer`. */
  noReferrer?: true;
  /**
   * Action of the audit row that the change leaves (docs/behaviour.md#audit-events), with result `denied` when a known
   * caller is refused; the isolation suite checks both.
   */
  audit?: string;
  /** Type of the record in that row; the first part of the action when absent. */
  auditResource?: string;
  /**
   * Another convention than the API's own. `scim` (docs/directory.md#protocol): unknown parameters are ignored, a body
   * may have any fields, errors have SCIM's body, deletes answer 204. `otlp`: errors are the Status of OTLP over HTTP.
   */
  dialect?: "scim" | "otlp";
  /** 200 when absent; 101 for an upgrade; 302 and 303 have no body, so that `reply` is `noBody`. */
  status?: 101 | 200 | 201 | 202 | 204 | 302 | 303;
  /** What each further status means with which the handler may answer, and what its header lines are. */
  answers?: Readonly<Partial<Record<AnsweredStatus, AnswerDescription>>>;
  /** Content type of a JSON reply other than application/json. */
  contentType?: string;
  /** Content types of a reply that is no JSON, and its further headers; `reply` is then a schema of text. */
  file?: { contentTypes: readonly string[]; headers: Readonly<Record<string, string>> };
  reply: R;
  /**
   * What a browser receives instead of the error body when its request is refused or fails: for rows that a browser
   * opens as a page. Never rejects.
   */
  refused?(refusal: Refusal, deps: Deps): Maybe<Answered>;
  /** Codes beyond those that follow from access and schemas. */
  errors?: readonly PublicCode[];
  handle(
    request: RouteRequest<A, Output<P>, Output<Q>, Output<B>>,
    deps: Deps,
  ): Maybe<z.input<R> | Answered | Rendered | Streamed>;
};

/** A row whose own types are checked and done with. */
export type Route = Omit<
  RouteDefinition<Access, z.ZodObject | undefined, z.ZodObject | undefined, z.ZodType | undefined, z.ZodType>,
  "handle" | "example" | "opaque"
> & {
  example?: unknown;
  opaque?: string;
  handle(request: RouteRequest, deps: Deps): Maybe<unknown>;
};

/**
 * Declares a row: the handler's input follows from the row's schemas and access, its result must fit the reply's
 * schema.
 */
export function route<
  const A extends Access,
  P extends z.ZodObject | undefined = undefined,
  Q extends z.ZodObject | undefined = undefined,
  B extends z.ZodType | undefined = undefined,
  R extends z.ZodType = z.ZodType,
>(definition: RouteDefinition<A, P, Q, B, R>): Route {
  return definition as unknown as Route;
}

/** `reply` of a row that answers without a body. */
export const noBody = z.null();

export const apiPrefix = "/api/v1";
export const defaultBodyLimitBytes = 64 * 1024;

/** The path a row is served at, parameters as `:name`. */
export function fullPath(row: Pick<Route, "path" | "atRoot">): string {
  return row.atRoot ? row.path : `${apiPrefix}${row.path}`;
}
