import type { RetentionPolicy } from "@muster/proto/muster/audit/v1/retention_pb";
import { z } from "zod";
import { type Route, route } from "../../route/route.ts";
import { exampleId, id, idOut, timeOrNull, timeOut } from "../fields/schemas.ts";
import { listErrors, tag } from "./audit-logs.ts";

const path = "/audit-logs/retention";
const query = z.object({
  orgId: id.optional().meta({ description: "Required for partner and system callers." }),
});

const policy = z
  .object({
    orgId: idOut,
    retentionDays: z.int(),
    archiveToS3: z.boolean().meta({ description: "Rows are archived to object storage before they are deleted." }),
    lastCleanupAt: timeOut.nullable().meta({ description: "Time at which retention last checked the rows." }),
    pendingRetentionDays: z.int().nullable().meta({ description: "A shorter retention that is not in force yet." }),
    pendingFrom: timeOut.nullable().meta({ description: "Time at which the shorter retention takes effect." }),
  })
  .meta({ id: "AuditRetention" });

const errors = [...listErrors, "organization_context_required"] as const;

const get = route({
  method: "GET",
  path,
  access: { auth: "session", permission: "audit:write" },
  tag,
  summary: "Retention of an organization's audit rows",
  query,
  reply: policy,
  errors,
  async handle({ query: { orgId }, rpc }, { services }) {
    const reply = await services.auditRetention.getRetention({ orgId: orgId ?? "" }, await rpc());
    return policyOf(reply.policy);
  },
});

const update = route({
  method: "PATCH",
  path,
  audit: "audit.retention.update",
  auditResource: "audit_retention",
  access: { auth: "session", permission: "audit:write", mfa: true },
  tag,
  summary: "Change the retention of an organization's audit rows",
  description:
    "A longer retention takes effect at once; a shorter one after 24 hours, and until then any change to at least the retention in force cancels it.",
  body: z.object({
    orgId: id.optional().meta({ description: "Required for partner and system callers." }),
    retentionDays: z.int().min(1).max(3_650).optional().meta({
      description: "A shorter retention waits 24 hours, see `pendingFrom`; a longer one is in force at once.",
    }),
    archiveToS3: z.boolean().optional(),
  }),
  example: { orgId: exampleId, retentionDays: 400 },
  reply: policy,
  errors: [...errors, "no_updates"],
  async handle({ body: { orgId, retentionDays, archiveToS3 }, rpc }, { services }) {
    const reply = await services.auditRetention.updateRetention(
      {
        orgId: orgId ?? "",
        ...(retentionDays === undefined ? {} : { retentionDays }),
        ...(archiveToS3 === undefined ? {} : { archiveToS3 }),
      },
      await rpc(),
    );
    return policyOf(reply.policy);
  },
});

function policyOf(message: RetentionPolicy | undefined): z.input<typeof policy> {
  if (!message) throw new Error("audit answered without a policy");
  return {
    orgId: message.orgId,
    retentionDays: message.retentionDays,
    archiveToS3: message.archiveToS3,
    lastCleanupAt: timeOrNull(message.lastCleanupAt),
    pendingRetentionDays: message.pendingRetentionDays ?? null,
    pendingFrom: timeOrNull(message.pendingFrom),
  };
}

export const auditRetentionRoutes: readonly Route[] = [get, update];
