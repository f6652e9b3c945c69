import { Readable } from "node:stream";
import { ReadableStream } from "node:stream/web";
import type { ApiError } from "@muster/client";
import { visible } from "./table.ts";

/** Exit codes of the program (docs/cli.md#exit-codes). */
export const exits = {
  failed: 1,
  usage: 2,
  signedOut: 3,
  forbidden: 4,
  missing: 5,
  unavailable: 6,
} as const;

/** Ends a command with a message for its caller; `body` is the error of the API, when it is one. */
export class Failure extends Error {
  readonly exitCode: number;
  readonly body: ApiError | null;

  constructor(exitCode: number, message: string, body: ApiError | null = null) {
    super(message);
    this.exitCode = exitCode;
    this.body = body;
  }
}

export const wrongUsage = (message: string) => new Failure(exits.usage, message);

/** The exit code for an error of the API. */
export function exitCodeOf(status: number, code: string): number {
  if (code === "network_error" || status === 429 || status >= 500) return exits.unavailable;
  if (status === 401) return exits.signedOut;
  if (status === 403) return exits.forbidden;
  return status === 404 ? exits.missing : exits.failed;
}

export const refusal = (status: number, body: ApiError) => new Failure(exitCodeOf(status, body.code), body.error, body);

export type Reply<T> = { data?: T; error?: ApiError; response: Response };

/** The body of a reply that was requested as a stream; throws a Failure when it is an error. */
export async function streamOf(call: Promise<Reply<unknown>>): Promise<{ source: Readable; headers: Headers }> {
  const { data, error, response } = await call;
  if (error !== undefined || !(data instanceof ReadableStream)) {
    throw refusal(response.status, asError(error, response));
  }
  return { source: Readable.fromWeb(data), headers: response.headers };
}

/** The data of a reply; throws a Failure when it is an error. */
export async function done<T>(call: Promise<Reply<T>>): Promise<T> {
  const { data, error, response } = await call;
  if (error !== undefined) throw refusal(response.status, asError(error, response));
  return data as T;
}

const isApiError = (error: unknown): error is ApiError =>
  typeof error === "object" && error !== null && "code" in error && typeof error.code === "string";

/** A proxy in front of the API may answer with a page. */
function asError(error: unknown, { status, statusText }: Response): ApiError {
  if (isApiError(error)) return error;
  return { error: `HTTP ${status} ${statusText}`.trim(), code: "unreadable_reply", requestId: "" };
}

const signIn = "Sign in with `muster login`.";
const hints: Record<string, string> = {
  unauthenticated: signIn,
  token_expired: signIn,
  session_revoked: signIn,
  mfa_required:
    "This needs a second factor that was completed a short while ago: `muster mfa enroll` once, then `muster login` again.",
  user_session_required: "API keys are refused here: unset MUSTER_API_KEY and sign in with `muster login`.",
  network_error: "Nothing answers there: check MUSTER_URL or --url.",
  organization_context_required: "Name an organization with --org.",
  rollout_over_threshold: "Mend the cause; `--accept-failures` resumes it without counting the failures so far.",
};

/** What to do about a field that is missing or wrong. */
const fieldHints = [
  ["orgId", hints.organization_context_required],
  ["roleId", "`muster get roles` lists the roles, `org-admin` among them."],
] as const;

/** Members of an error that are shown otherwise, or that a hint stands for. */
const shownElsewhere = ["error", "code", "requestId", "details", "enrollUrl"];

/** What an error says beside its sentence, such as the permission that it requires. */
function factsOf(body: ApiError): string[] {
  return Object.entries(body).flatMap(([name, value]) =>
    shownElsewhere.includes(name) || value === undefined || body.error.includes(factText(value))
      ? []
      : [`  ${name}: ${visible(factText(value))}`],
  );
}

function factText(value: unknown): string {
  if (Array.isArray(value)) return value.map(factText).join("; ");
  if (typeof value === "object" && value !== null) return Object.values(value).map(factText).join(": ");
  return String(value);
}

/** Message, code and request id, then errors by field, else its facts, and what to do. */
export function textOf({ message, body }: Failure): string {
  if (!body) return `muster: ${message}\n`;
  const facts = [body.code, ...(body.requestId ? [`request ${body.requestId}`] : [])].join(", ");
  const fields = Object.entries(body.details?.fieldErrors ?? {});
  const lines = [
    `muster: ${message} (${facts})`,
    ...(fields.length > 0 ? fields.map(([field, messages]) => `  ${field}: ${messages.join("; ")}`) : factsOf(body)),
  ];
  const hint = hints[body.code] ?? fieldHints.find(([field]) => body.details?.fieldErrors?.[field])?.[1];
  return `${[...lines, ...(hint ? [hint] : [])].join("\n")}\n`;
}
