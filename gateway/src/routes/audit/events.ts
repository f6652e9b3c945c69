import { z } from "zod";
import { type Route, route } from "../../route/route.ts";
import { exampleId, id, idOut, objectIn, timeIn, timestampOf } from "../fields/schemas.ts";
import { listErrors, tag } from "./audit-logs.ts";

const claimedActor = z
  .object({
    type: z.string().max(50).optional(),
    id: z.string().max(255).optional(),
    name: z.string().max(255).optional(),
    email: z.string().max(255).optional(),
    ipAddress: z.string().max(45).optional(),
  })
  .meta({
    description:
      "Who acted, as the caller says: shown as claimed, in `details.claimedActor`. The row's actor is the caller.",
  });

const record = z.object({
  type: z
    .string()
    .max(50)
    .regex(/^[a-z][a-z0-9_.-]*$/, "Letters a-z, digits, _, - and dots"),
  id: z.string().min(1).max(255),
  name: z.string().max(255).optional(),
});

const event = z
  .object({
    id: id.optional().meta({ description: "Id of the row, chosen by the caller; without it, one is generated." }),
    timestamp: timeIn
      .optional()
      .meta({ description: "At most 30 days ago and 5 minutes ahead; without it, the time of the request." }),
    action: z
      .string()
      .max(100)
      .regex(/^custom(\.[a-z0-9][a-z0-9_-]*)+$/, "custom. and words of a-z, 0-9, _ and -, with dots between them")
      .meta({ example: "custom.invoice.approve" }),
    resource: record,
    targets: z.array(record).max(20).optional().meta({ description: "What it is about besides the resource." }),
    result: z.enum(["success", "failure", "denied"]).optional().meta({ default: "success" }),
    errorMessage: z.string().max(2_000).optional(),
    claimedActor: claimedActor.optional(),
    details: objectIn.optional().meta({ description: "At most 16 KiB of JSON." }),
  })
  .meta({ id: "AuditEventInput" });

const append = route({
  method: "POST",
  path: "/audit-logs/events",
  audit: "audit.event.append",
  auditResource: "audit_event",
  access: { auth: "session", permission: "audit:append", keyScopes: ["audit:append"] },
  tag,
  summary: "Append own events to an organization's audit trail",
  description:
    "Stored before the reply is sent, and sealed in the organization's chain as every row is. All of them, or none. An `id` that " +
    "the organization has had before changes nothing. Beyond the rows of a day, 429 until the next one (UTC). Own events count " +
    "in no security or compliance report.",
  body: z.object({
    orgId: id.optional().meta({ description: "Required unless the caller belongs to one organization." }),
    events: z.array(event).min(1).max(100),
  }),
  example: {
    orgId: exampleId,
    events: [
      {
        action: "custom.invoice.approve",
        resource: { type: "invoice", id: "2026-0042", name: "Invoice 42" },
        claimedActor: { id: "u-17", name: "Ada", email: "ada@example.com" },
        details: { amount: "120.00" },
      },
    ],
  },
  bodyLimitBytes: 2 * 1024 * 1024,
  status: 202,
  idempotent: true,
  load: "ingest",
  reply: z.object({
    ids: z.array(idOut).meta({ description: "Of the rows, in the order of the request." }),
    repeated: z.int().meta({ description: "How many of them the organization has had before." }),
  }),
  errors: [...listErrors, "organization_context_required", "rate_limited"],
  async handle({ body, rpc }, { services }) {
    const events = body.events.map(({ timestamp, resource, details, claimedActor: claimed, ...each }) => ({
      ...each,
      ...(timestamp === undefined ? {} : { timestamp: timestampOf(timestamp) }),
      resourceType: resource.type,
      resourceId: resource.id,
      resourceName: resource.name ?? "",
      detailsJson: details === undefined ? "" : JSON.stringify(details),
      ...(claimed === undefined ? {} : { claimedActor: claimed }),
    }));
    const reply = await services.auditAppends.appendEvents({ orgId: body.orgId ?? "", events }, await rpc());
    return { ids: reply.ids, repeated: reply.repeatedEvents };
  },
});

export const auditEventRoutes: readonly Route[] = [append];
