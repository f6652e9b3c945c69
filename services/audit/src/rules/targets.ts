import { isUuid, storableText } from "@muster/kit";
import type { AuditTarget } from "@muster/proto/muster/events/v1/audit_pb";

/** What a row is about besides its resource. */
export type Target = { type: string; id: string; name: string | null };

export const mostTargets = 20;

/** Targets in the documented sizes and forms. */
export function targetsOf(targets: readonly AuditTarget[], clean: (text: string, max: number) => string): Target[] {
  return targets.slice(0, mostTargets).map(({ type, id, name }): Target => {
    return {
      type: clean(type, 50),
      id: isUuid(id) ? id.toLowerCase() : clean(id, 255),
      name: name === "" ? null : clean(name, 255),
    };
  });
}

/** Whether a found value can be the targets of a sealed row. */
export function areTargets(value: unknown): value is Target[] {
  return Array.isArray(value) && value.length > 0 && value.every(isTarget);
}

function isTarget(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  const { type, id, name, ...more } = value as Record<string, unknown>;
  const isText = (text: unknown) => typeof text === "string" && storableText(text) === text;
  return isText(type) && isText(id) && (name === null || isText(name)) && Object.keys(more).length === 0;
}
