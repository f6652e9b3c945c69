import { z } from "zod";

const source = z
  .enum(["organization", "partner", "default"])
  .meta({ description: "Level that sets the effective value." });
const field = <T extends z.ZodType>(value: T) =>
  z.object({
    value: value.nullable().meta({ description: "Value set on this level; null when unset." }),
    effective: value.nullable().meta({ description: "Value in force on this level." }),
    source,
    lockedBy: z.literal("partner").nullable().meta({
      description:
        "The partner's value takes precedence; this level's value is stored and takes effect when the lock ends.",
    }),
  });

export const day = z.enum(["sun", "mon", "tue", "wed", "thu", "fri", "sat"]);
export const policy = z.enum(["automatic", "manual"]);

/** Each field of the settings with its value, what is in force and why. */
export const settingsFields = z
  .object({
    agentTarget: field(z.string()),
    watchdogTarget: field(z.string()),
    updatePolicy: field(policy),
    windowDays: field(z.array(day)),
    windowStart: field(z.string()),
    windowEnd: field(z.string()),
  })
  .meta({ id: "AgentUpdateFields" });
