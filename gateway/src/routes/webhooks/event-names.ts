import {
  customEventType,
  customEventTypeMax,
  eventTypes,
  isCustomEventType,
  isEventPattern,
  isEventType,
} from "@muster/kit";
import { z } from "zod";
import type { CodedError } from "../../http/input-errors.ts";

/** Patterns of names besides the catalogue's; the typed client has a template for each (libs/client/generate.mjs). */
const ownTypes = customEventType.source;
const beginnings = "^[a-z0-9_.]+\\.\\*$";

/** Names of the catalogue, or of such patterns; checked by the row or its service, with a code of its own. */
const named = (values: readonly string[], ...patterns: readonly string[]) => {
  const listed = values.length === 0 ? [] : [{ type: "string" as const, enum: [...values] }];
  const anyOf = [...listed, ...patterns.map((pattern) => ({ type: "string" as const, pattern }))];
  return z
    .string()
    .max(customEventTypeMax)
    .meta(anyOf.length === 1 ? { pattern: patterns[0] } : { anyOf });
};

/** The type of an event: of this list, or an own one. */
export const eventNameIn = (values: readonly string[]) => named(values, ownTypes);

const isSubscribed = (type: string) =>
  type === "*" || isEventType(type) || isEventPattern(type) || isCustomEventType(type);

/** Types that a webhook subscribes to. */
export const subscribedEvents = z
  .array(named(["*", ...eventTypes], ownTypes, beginnings))
  .min(1)
  .max(100)
  .superRefine((types, { addIssue }) => {
    if (types.includes("*") && types.some((type) => type !== "*")) {
      addIssue({ code: "custom", message: '"*" stands alone' });
    }
    const unknown = [...new Set(types)].filter((type) => !isSubscribed(type)).slice(0, 20);
    if (unknown.length === 0) return;
    const params: CodedError = { code: "unknown_event_type", text: "Unknown event type", facts: { types: unknown } };
    addIssue({ code: "custom", message: `Unknown: ${unknown.join(", ")}`, params });
  })
  .meta({ description: '`["*"]` stands for all, `device.*` for all with this beginning.' });

/** A filter of a list by the type of an event: none other than these finds anything. */
export const eventNameFilter = (values: readonly string[]) =>
  eventNameIn(values).refine((type) => values.includes(type) || isCustomEventType(type), "Not an event type");
