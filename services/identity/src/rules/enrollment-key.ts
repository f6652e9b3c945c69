import { createHash, createHmac, randomBytes } from "node:crypto";
import { validationError } from "@muster/kit";
import { keyChecks } from "./key-fields.ts";
import { type KeyMaterial, prefixLength } from "./key-material.ts";

/** A server-side secret of enrollment key hashes; the id identifies the secret of a stored hash. */
export type Pepper = { id: string; secret: string };

export type PepperSettings = {
  ENROLLMENT_KEY_PEPPER?: string | undefined;
  APP_ENCRYPTION_KEY?: string | undefined;
  SECRET_ENCRYPTION_KEY?: string | undefined;
  JWT_SECRET?: string | undefined;
};

/**
 * The peppers in use, the first for new keys. Each key of an encryption key setting is one, so that adding a key
 * invalidates no enrollment key. Throws when no setting provides one (docs/behaviour.md#enrollment-keys).
 */
export function enrollmentPeppers(settings: PepperSettings): [Pepper, ...Pepper[]] {
  const keys = settings.APP_ENCRYPTION_KEY ?? settings.SECRET_ENCRYPTION_KEY;
  const secrets = settings.ENROLLMENT_KEY_PEPPER
    ? [settings.ENROLLMENT_KEY_PEPPER]
    : (keys?.split(",").map((key) => key.trim()) ?? [settings.JWT_SECRET ?? ""]);
  const [first, ...others] = secrets.filter((secret) => secret !== "").map(pepperOf);
  if (!first) throw new Error("No enrollment key pepper configured");
  return [first, ...others];
}

const pepperOf = (secret: string): Pepper => ({
  id: createHash("sha256").update(`enrollment key pepper\n${secret}`).digest("hex").slice(0, 8),
  secret,
});

/** 32 random bytes as hex and the HMAC that is stored in their place. */
export function newEnrollmentKey(pepper: Pepper): KeyMaterial {
  const key = randomBytes(32).toString("hex");
  return { key, prefix: key.slice(0, prefixLength), digest: enrollmentDigest(key, pepper) };
}

export function enrollmentDigest(key: string, pepper: Pepper): Buffer {
  return createHmac("sha256", pepper.secret).update(key).digest();
}

/** What becomes of a machine that enrolls again while the device with its hardware id is offline. */
export const reinstalls = ["quarantine", "replace", "new"] as const;
export type Reinstall = (typeof reinstalls)[number];

export type NewEnrollmentKey = {
  name: string;
  siteId: string | null;
  maxUsage: number;
  expiresAt: Date;
  reinstall: Reinstall;
};

/** A new key's fields with the documented defaults. Throws `validation_failed`. */
export function newEnrollmentFields(
  input: { name: string; siteId: string; maxUsage?: number | undefined; expiresAt: Date | null; reinstall: string },
  now: Date,
  defaultTtlMinutes: number,
): NewEnrollmentKey {
  const check = keyChecks();
  const reinstall = reinstalls.find((each) => each === (input.reinstall || "quarantine"));
  if (reinstall === undefined) throw validationError({ reinstall: [`One of ${reinstalls.join(", ")}`] });
  const fields = {
    reinstall,
    name: check.name(input.name),
    siteId: input.siteId || null,
    maxUsage: check.maxUsage(input.maxUsage ?? 1),
    expiresAt: check.expiresAt(input.expiresAt ?? new Date(now.getTime() + defaultTtlMinutes * 60_000), now),
  };
  check.done();
  return fields;
}

export type Usage = { case: "unlimited"; value: boolean } | { case: "maxUsage"; value: number } | { case: undefined };

/**
 * The fields that a rotation resets: `maxUsage` null removes the limit, absent fields stay. Throws `validation_failed`.
 */
export function rotatedEnrollmentFields(
  usage: Usage,
  expiresAt: Date | null,
  now: Date,
): { maxUsage?: number | null; expiresAt?: Date } {
  const check = keyChecks();
  if (usage.case === "unlimited" && !usage.value) throw validationError({ maxUsage: ["Null or a number"] });
  const fields = {
    ...(usage.case === "maxUsage" ? { maxUsage: check.maxUsage(usage.value) } : {}),
    ...(usage.case === "unlimited" ? { maxUsage: null } : {}),
    ...(expiresAt === null ? {} : { expiresAt: check.expiresAt(expiresAt, now) }),
  };
  check.done();
  return fields;
}
