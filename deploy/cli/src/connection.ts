import { createMusterClient, type MusterClient } from "@muster/client";
import { access } from "@muster/client/access";
import { type Credentials, credentialsOf } from "./credentials.ts";
import { exits, Failure, wrongUsage } from "./failure.ts";
import type { Globals, Io } from "./io.ts";

const defaultUrl = "http://localhost:3000";
/** Longer than any answer in JSON may take at the API. */
const deadlineMs = 60_000;

/** A deployment, and the key of its session in the file of sessions. */
export type Target = { url: string; profile: string | null; key: string; credentials: Credentials };

const keyOf = (profile: string | null, url: string) => (profile === null ? url : `${profile}@${url}`);
const ofProfile = /^([A-Za-z0-9][\w.-]{0,63})@(https?:.*)$/;

/**
 * Which deployment is meant: `--url`, that of `--profile` or `MUSTER_PROFILE`, `MUSTER_URL`, the one chosen last, or
 * the one of `npm start`. The session of a profile is found at its own address alone.
 */
export function targetOf(io: Io, { url, profile }: Globals): Target {
  const credentials = credentialsOf(io.env);
  const wanted = profile ?? (io.env.MUSTER_PROFILE || null);
  if (wanted !== null && !ofProfile.test(`${wanted}@https:`)) {
    throw wrongUsage(`"${wanted}" is no name of a profile: letters, digits, "-", "_" and ".", at most 64`);
  }
  const stored = wanted === null ? undefined : ownValue(credentials.profiles(), wanted);
  const named = url ?? stored ?? (io.env.MUSTER_URL || null);
  if (named !== null || wanted !== null) return { ...checked(named ?? defaultUrl, wanted), credentials };
  const current = credentials.current() ?? defaultUrl;
  const [, name = null, address = current] = ofProfile.exec(current) ?? [];
  return { ...checked(address, name), credentials };
}

const ownValue = (record: Readonly<Record<string, string>>, name: string) =>
  Object.hasOwn(record, name) ? record[name] : undefined;

function checked(address: string, profile: string | null): Omit<Target, "credentials"> {
  if (!URL.canParse(address) || !/^https?:$/.test(new URL(address).protocol)) {
    throw wrongUsage(`"${address}" is not an address such as https://muster.example.com`);
  }
  const url = address.replace(/\/+$/, "").replace(/\/api\/v1$/, "");
  return { url, profile, key: keyOf(profile, url) };
}

/** The profiles, with who is signed in at each. */
export function profilesOf(io: Io) {
  const credentials = credentialsOf(io.env);
  const current = credentials.current();
  return Object.entries(credentials.profiles()).map(([name, url]) => {
    const key = keyOf(name, url);
    const email = credentials.session(key)?.email ?? null;
    return { name, url, email, current: key === current, use: () => credentials.choose(key) };
  });
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
): { muster: MusterClient; url: string; credentials: Credentials } {
  const { url, key, credentials } = targetOf(io, globals);
  const mayAll = globals.yes === true || io.stdin.isTTY === true;
  const guarded = (muster: MusterClient) => {
    if (!mayAll) muster.use(consentGuard(own));
    return muster;
  };
  const apiKey = io.env.MUSTER_API_KEY;
  if (apiKey) {
    return { url, credentials, muster: guarded(createMusterClient({ baseUrl: url, apiKey, fetch: ownFetch })) };
  }
  const tokens = credentials.session(key);
  if (!tokens) {
    throw new Failure(exits.signedOut, `not signed in at ${url}: run \`muster login\`, or set MUSTER_API_KEY`);
  }
  return {
    url,
    credentials,
    muster: guarded(
      createMusterClient({ baseUrl: url, tokens, refreshWith: credentials.refreshWith(key), fetch: ownFetch }),
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
