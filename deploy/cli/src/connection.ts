import { createMusterClient, type MusterClient } from "@muster/client";
import { access } from "@muster/client/access";
import { type Credentials, credentialsOf } from "./credentials.ts";
import { exits, Failure, wrongUsage } from "./failure.ts";
import type { Globals, Io } from "./io.ts";

const defaultUrl = "http://localhost:3000";
/** Longer than any answer in JSON may take at the API. */
const deadlineMs = 60_000;

export type Target = { url: string; credentials: Credentials };

/** Which deployment is meant: `--url`, `MUSTER_URL`, the newest sign-in, or the one of `npm start`. */
export function targetOf(io: Io, { url }: Globals): Target {
  const credentials = credentialsOf(io.env);
  const address = url ?? (io.env.MUSTER_URL || null) ?? credentials.current() ?? defaultUrl;
  if (!URL.canParse(address) || !/^https?:$/.test(new URL(address).protocol)) {
    throw wrongUsage(`"${address}" is not an address such as https://muster.example.com`);
  }
  return { url: address.replace(/\/+$/, "").replace(/\/api\/v1$/, ""), credentials };
}

/** An unauthenticated client, for signing in. */
export const anonymous = (url: string) => createMusterClient({ baseUrl: url, fetch: ownFetch });

/**
 * A client with the key of `MUSTER_API_KEY`, else with the kept session; throws a Failure without either. Without a
 * terminal its operations that destroy something or show a secret are refused, unless `--yes` is given: a script must
 * say so, since nobody can be asked. `own` are operations that undo what the command itself has made.
 */
export function connect(
  io: Io,
  globals: Globals,
  own: readonly Operation[] = [],
): { muster: MusterClient; url: string } {
  const { url, credentials } = targetOf(io, globals);
  const mayAll = globals.yes === true || io.stdin.isTTY === true;
  const guarded = (muster: MusterClient) => {
    if (!mayAll) muster.use(consentGuard(own));
    return muster;
  };
  const apiKey = io.env.MUSTER_API_KEY;
  if (apiKey) return { url, muster: guarded(createMusterClient({ baseUrl: url, apiKey, fetch: ownFetch })) };
  const tokens = credentials.session(url);
  if (!tokens) {
    throw new Failure(exits.signedOut, `not signed in at ${url}: run \`muster login\`, or set MUSTER_API_KEY`);
  }
  return {
    url,
    muster: guarded(
      createMusterClient({ baseUrl: url, tokens, refreshWith: credentials.refreshWith(url), fetch: ownFetch }),
    ),
  };
}

/** An operation of the API, as `DELETE /api/v1/webhooks/{id}`. */
export type Operation = `${"POST" | "PUT" | "PATCH" | "DELETE"} /${string}`;

const words = { destroys: "destroys something", reveals: "shows a secret" } as const;

/** Refuses by the facts of the operations, so that a new one, or a new command, is covered. */
const consentGuard = (own: readonly Operation[]) => ({
  onRequest({ request, schemaPath }: { request: Request; schemaPath: string }): undefined {
    const operation = `${request.method} ${schemaPath}`;
    const effects = access[operation]?.effects ?? [];
    if (effects.length === 0 || own.some((each) => each === operation)) return;
    const what = effects.map((effect) => words[effect]).join(" and ");
    throw wrongUsage(`${operation} ${what}: without a terminal it needs --yes`);
  },
});

/** With a deadline, and a name by which sessions and audit rows show the program. */
function ownFetch(...args: Parameters<typeof fetch>): Promise<Response> {
  const request = new Request(...args);
  request.headers.set("user-agent", "muster-cli");
  return fetch(request, { signal: AbortSignal.any([request.signal, AbortSignal.timeout(deadlineMs)]) });
}
