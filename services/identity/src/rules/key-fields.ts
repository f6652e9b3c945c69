import { canonicalCidr, type FieldErrors, nameError, validationError } from "@muster/kit";

const maxRanges = 50;

/** Bounds of an API key's hourly limit and of an enrollment key's uses (docs/behaviour.md#defaults). */
export const most = 100_000;

export type KeyChecks = {
  name(value: string): string;
  rateLimit(value: number): number;
  maxUsage(value: number): number;
  /** A time in the future. */
  expiresAt(value: Date, now: Date): Date;
  allowedIps(values: readonly string[]): string[];
  done(): void;
};

/** Collects one text per bad field; `done` throws `validation_failed` when there is any. */
export function keyChecks(): KeyChecks {
  const errors: FieldErrors = {};
  const check = <T>(field: string, ok: boolean, text: string, value: T): T => {
    if (!ok) errors[field] ??= [text];
    return value;
  };
  const count = (field: string, value: number) =>
    check(field, Number.isInteger(value) && value >= 1 && value <= most, `A whole number from 1 to ${most}`, value);
  return {
    name(value) {
      const error = nameError(value);
      return check("name", error === null, error ?? "", value);
    },
    rateLimit: (value) => count("rateLimit", value),
    maxUsage: (value) => count("maxUsage", value),
    expiresAt: (value, now) => check("expiresAt", value > now && isStorable(value), "Must be in the future", value),
    allowedIps(values) {
      const ranges = values.map(canonicalCidr);
      check("allowedIps", values.length <= maxRanges, `At most ${maxRanges} ranges`, null);
      check("allowedIps", !ranges.includes(null), "IP addresses or CIDR ranges", null);
      return [...new Set(ranges.filter((range) => range !== null))].sort();
    },
    done() {
      if (Object.keys(errors).length > 0) throw validationError(errors);
    },
  };
}

/** Later years do not fit the four digits of ISO 8601 as replies show it. */
const isStorable = (time: Date) => !Number.isNaN(time.getTime()) && time.getUTCFullYear() <= 9999;
