import { create, toBinary } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import type { Database, OutboxMessage } from "@muster/db";
import { AppError, clampPage, isUuid, uuidv7 } from "@muster/kit";
import { PartnerChangedSchema } from "@muster/proto/muster/events/v1/tenancy_pb";
import { type Partner, PartnerSchema, type PartnerService } from "@muster/proto/muster/tenancy/v1/partner_pb";
import { callContext } from "@muster/rpc";
import { auditEvent, requirePermission, requireScope } from "@muster/service";
import { newPartner } from "../rules/partner.ts";
import { findPartner, insertPartner, listPartners, type PartnerRow } from "../store/partners.ts";

type Deps = { db: Database; now: () => Date };

/** Partners, for system callers. */
export function partnerService({ db, now }: Deps): ServiceImpl<typeof PartnerService> {
  return {
    async createPartner(request, handler) {
      const context = callContext(handler);
      requireScope(context, "system");
      requirePermission(context, "organizations:write");
      const wanted = newPartner(request);
      const at = now();
      const row = await db.tx(context, async (tx) => {
        const created = await insertPartner(tx, uuidv7(at.getTime()), wanted, at);
        tx.emit(partnerChanged("created", created));
        tx.emit(
          auditEvent(
            "tenancy",
            context,
            {
              action: "partner.create",
              resource: { type: "partner", id: created.id, name: created.name },
              orgId: null,
              partnerId: created.id,
              details: { changes: { before: {}, after: visibleFields(created) } },
            },
            at,
          ),
        );
        return created;
      });
      return { partner: toMessage(row) };
    },

    async listPartners(request, handler) {
      const context = callContext(handler);
      requireScope(context, "system");
      requirePermission(context, "organizations:read");
      const page = clampPage(request.page ?? {});
      const { rows, total, nextCursor } = await listPartners(db, context, page);
      return {
        partners: rows.map(toMessage),
        page: {
          page: page.page,
          limit: page.limit,
          nextCursor,
          ...(total === null ? {} : { total: BigInt(total) }),
        },
      };
    },

    async getPartner(request, handler) {
      const context = callContext(handler);
      requireScope(context, "system");
      requirePermission(context, "organizations:read");
      const row = isUuid(request.id) ? await findPartner(db, context, request.id) : null;
      if (!row) throw new AppError("partner_not_found", "Partner not found");
      return { partner: toMessage(row) };
    },
  };
}

function partnerChanged(change: "created" | "updated" | "deleted", row: PartnerRow): OutboxMessage {
  const event = create(PartnerChangedSchema, {
    id: row.id,
    version: BigInt(row.version),
    status: row.status,
    deleted: row.deleted_at !== null,
  });
  return {
    subject: `tenancy.partner.${change}`,
    msgId: `${row.id}/partner-${row.version}`,
    body: toBinary(PartnerChangedSchema, event),
  };
}

/** What the audit row shows of a partner. */
function visibleFields(row: PartnerRow): Record<string, unknown> {
  return {
    name: row.name,
    slug: row.slug,
    type: row.type,
    plan: row.plan,
    status: row.status,
    maxOrganizations: row.max_organizations,
    maxDevices: row.max_devices,
    billingEmail: row.billing_email,
  };
}

function toMessage(row: PartnerRow): Partner {
  return create(PartnerSchema, {
    id: row.id,
    name: row.name,
    slug: row.slug,
    type: row.type,
    plan: row.plan,
    status: row.status,
    maxOrganizations: row.max_organizations ?? undefined,
    maxDevices: row.max_devices ?? undefined,
    settingsJson: JSON.stringify(row.settings),
    ssoConfigJson: JSON.stringify(row.sso_config),
    billingEmail: row.billing_email ?? undefined,
    createdAt: timestampFromDate(row.created_at),
    updatedAt: timestampFromDate(row.updated_at),
    deletedAt: row.deleted_at ? timestampFromDate(row.deleted_at) : undefined,
  });
}
