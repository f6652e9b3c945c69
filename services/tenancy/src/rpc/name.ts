import type { ServiceImpl } from "@connectrpc/connect";
import type { Database } from "@muster/db";
import { AppError, isUuid, validationError } from "@muster/kit";
import type { NameService } from "@muster/proto/muster/tenancy/v1/name_pb";
import { callContext } from "@muster/rpc";
import { requireOrganization, requireUser } from "@muster/service";
import { findNames, type NameRow } from "../store/names.ts";

const idsMax = 100;

/** Names of records by id: each kind only for callers who may read its records. */
export function nameService({ db }: { db: Database }): ServiceImpl<typeof NameService> {
  return {
    async listNames({ ids }, handler) {
      const context = callContext(handler);
      requireUser(context);
      requireOrganization(context);
      requireIds(ids);
      const { permissions } = context.caller;
      const kinds = {
        tenants: permissions.includes("organizations:read"),
        devices: permissions.includes("devices:read"),
      };
      return { names: (await findNames(db, context, ids, kinds)).map(nameMessage) };
    },

    async listTenantNames({ ids }, handler) {
      const context = callContext(handler);
      if (context.caller.actor.type !== "system") throw new AppError("permission_denied", "For the gateway alone");
      requireIds(ids);
      const rows = await findNames(db, context, ids, { tenants: true, devices: false });
      return { names: rows.filter(({ kind }) => kind !== "site").map(nameMessage) };
    },
  };
}

function requireIds(ids: readonly string[]): void {
  if (ids.length > idsMax) throw validationError({ ids: [`At most ${idsMax}`] });
  if (!ids.every(isUuid)) throw validationError({ ids: ["Must be UUIDs"] });
}

const nameMessage = ({ id, kind, name, partner_id, org_id }: NameRow) => ({
  id,
  kind,
  name,
  partnerId: partner_id,
  orgId: org_id ?? "",
});
