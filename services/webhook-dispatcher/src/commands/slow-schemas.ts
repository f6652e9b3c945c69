import type { Logger } from "@muster/kit";
import { compileSchema, SchemaTooSlow, type Validator } from "../rules/json-schema.ts";

/** Schemas of organizations, of which a slow one blocks this process once in 10 s. */
export type Schemas = {
  /**
   * As compileSchema; it and its validator also throw SchemaTooSlow, unread, for 10 s after a schema of the
   * organization took too long: one after the other would block the process for much longer.
   */
  compile(orgId: string, json: string): Validator;
};

/** Milliseconds for which an organization's schemas are refused unread after one took too long. */
const slowMs = 10_000;

export function boundedSchemas({
  log,
  nowMs = () => performance.now(),
}: {
  log: Logger;
  nowMs?: () => number;
}): Schemas {
  const slowUntilMs = new Map<string, number>();

  function guarded<T>(orgId: string, work: () => T): T {
    if (nowMs() < (slowUntilMs.get(orgId) ?? 0)) throw new SchemaTooSlow("too slow a short while ago");
    slowUntilMs.delete(orgId);
    try {
      return work();
    } catch (error) {
      if (!(error instanceof SchemaTooSlow)) throw error;
      slowUntilMs.set(orgId, nowMs() + slowMs);
      log.warn({ orgId }, "schema of an event type takes too long");
      throw error;
    }
  }

  return {
    compile(orgId, json) {
      const validate = guarded(orgId, () => compileSchema(json));
      return (value) => guarded(orgId, () => validate(value));
    },
  };
}
