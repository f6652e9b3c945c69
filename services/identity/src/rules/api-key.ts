import { AppError } from "@muster/kit";
import { keyChecks } from "./key-fields.ts";
import { validScopes } from "./scope-ceiling.ts";

export const defaultRateLimit = 1000;
export const maxGraceSeconds = 86_400;

export type NewApiKey = {
  name: string;
  scopes: readonly string[];
  expiresAt: Date | null;
  rateLimit: number;
  allowedIps: readonly string[];
};

/** What a change writes. */
export type ApiKeyFields = Omit<NewApiKey, "expiresAt">;

type Input = { name: string; scopes: readonly string[]; rateLimit: number; allowedIps: readonly string[] };

/** A new key's fields; a rate limit of 0 means the default. Throws `validation_failed`, `unknown_scope`. */
export function newKeyFields(input: Input & { expiresAt: Date | null }, now: Date): NewApiKey {
  const check = keyChecks();
  const fields = {
    name: check.name(input.name),
    expiresAt: input.expiresAt === null ? null : check.expiresAt(input.expiresAt, now),
    rateLimit: check.rateLimit(input.rateLimit === 0 ? defaultRateLimit : input.rateLimit),
    allowedIps: check.allowedIps(input.allowedIps),
  };
  check.done();
  return { ...fields, scopes: validScopes(input.scopes) };
}

/** The masked fields of an update. Throws `no_updates`, `validation_failed`, `unknown_scope`. */
export function changedKeyFields(paths: readonly string[], input: Input): Partial<ApiKeyFields> {
  const check = keyChecks();
  const fields: Partial<ApiKeyFields> = {};
  if (paths.includes("name")) fields.name = check.name(input.name);
  if (paths.includes("rate_limit")) fields.rateLimit = check.rateLimit(input.rateLimit);
  if (paths.includes("allowed_ips")) fields.allowedIps = check.allowedIps(input.allowedIps);
  check.done();
  if (paths.includes("scopes")) fields.scopes = validScopes(input.scopes);
  if (Object.keys(fields).length === 0) throw new AppError("no_updates", "No updates provided");
  return fields;
}

/** A passed `expiresAt` counts, whatever is stored. Throws `key_not_active`. */
export function requireActive(key: { status: string; expires_at: Date | null }, now: Date): void {
  if (key.status !== "active" || (key.expires_at !== null && key.expires_at <= now)) {
    throw new AppError("key_not_active", "Only active keys can be updated or rotated");
  }
}
