import type { Route } from "../route/route.ts";
import type { JsonSchema } from "./json-schema.ts";

/** What a caller wants to be asked about before: it cannot be undone, or the reply shows a secret. */
export type Effect = "destroys" | "reveals";

/** Last words of audit actions that end, replace or withdraw something. */
const destroying = new Set([
  "cancel",
  "delete",
  "disable",
  "end",
  "migrate_key",
  "reset",
  "revoke",
  "rotate",
  "rotate_key",
  "rotate_secret",
  "rotate_signing_key",
  "unlink",
  "yank",
]);
const harmless = new Set([
  "access",
  "append",
  "approve",
  "change",
  "complete",
  "create",
  // Nothing has started yet.
  "deny",
  "enable",
  "export",
  "invite",
  "link",
  // Ends only the session that sends it.
  "logout",
  "pause",
  "promote",
  "register",
  "replay",
  "request",
  "requeue",
  "resend",
  "resume",
  "retry",
  "reveal_secret",
  "setup",
  "submit",
  "sync",
  "test",
  "update",
  "verify",
]);

const secret = /^(key|secret|token|accessToken|refreshToken|recoveryCodes|inviteUrl|otpauthUrl|portalUrl)$/;

/**
 * Effects of an operation, from the facts of its route: method, audit action, and a secret in a reply that nobody may
 * store. Throws for an audit action whose last word is in neither list, so that a new one is judged.
 */
export function effectsOf(row: Route, reply: JsonSchema, components: ReadonlyMap<string, JsonSchema>): Effect[] {
  const verb = row.audit?.split(".").at(-1);
  if (verb !== undefined && !destroying.has(verb) && !harmless.has(verb)) {
    throw new Error(`${row.method} ${row.path}: say in openapi/effects.ts whether "${verb}" destroys something`);
  }
  if (row.method === "GET") return [];
  const destroys = row.method === "DELETE" || (verb !== undefined && destroying.has(verb));
  const reveals = row.noStore === true && namesIn(reply, components, new Set()).some((name) => secret.test(name));
  return [...(destroys ? (["destroys"] as const) : []), ...(reveals ? (["reveals"] as const) : [])];
}

/** Names of all properties of a schema, at any depth. */
function namesIn(schema: unknown, components: ReadonlyMap<string, JsonSchema>, seen: Set<string>): string[] {
  if (Array.isArray(schema)) return schema.flatMap((each) => namesIn(each, components, seen));
  if (typeof schema !== "object" || schema === null) return [];
  const own =
    "properties" in schema && typeof schema.properties === "object" ? Object.keys(schema.properties ?? {}) : [];
  const name = "$ref" in schema ? String(schema.$ref).split("/").at(-1) : undefined;
  if (name !== undefined) {
    if (seen.has(name)) return [];
    seen.add(name);
    return namesIn(components.get(name), components, seen);
  }
  return [...own, ...Object.values(schema).flatMap((each) => namesIn(each, components, seen))];
}
