import { healthStatuses } from "@muster/kit";
import type { Health } from "@muster/proto/muster/common/v1/health_pb";
import { z } from "zod";

/** How well requests to a webhook, a receiver of audit rows, a provider or a directory go. */
export const healthFields = {
  status: z.enum(healthStatuses).meta({
    description:
      "`slow`: work waits for long. `failing`: some requests in a row failed. `unreachable`: nothing is sent, or nothing arrives.",
  }),
  reason: z.string().meta({ description: "One sentence that says why." }),
};

/** Of a service of a version that reports none, while it runs beside this one in an upgrade or a roll-back. */
const notReported = {
  status: "healthy" as const,
  reason: "The older version of the service that answered does not report health.",
};

export function healthStatusOf(message: Health | undefined): z.input<z.ZodObject<typeof healthFields>> {
  if (!message) return notReported;
  return { status: healthFields.status.parse(message.status), reason: message.reason };
}

export const healthOut = z
  .object(healthFields)
  .nullable()
  .meta({ description: "Null in the stored reply to a request that an older version answered." });

export const healthOrNull = (message: Health | undefined): z.input<typeof healthOut> =>
  message ? healthStatusOf(message) : null;
