import { createHash } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import type { Database } from "@muster/db";
import {
  AppError,
  type CallContext,
  decodeCursor,
  encodeCursor,
  foreignCursor,
  isUuid,
  validationError,
} from "@muster/kit";
import { DeviceFactsSchema } from "@muster/proto/muster/common/v1/device_pb";
import {
  DeviceChangedSchema,
  type TenantChanged,
  TenantChangedSchema,
} from "@muster/proto/muster/events/v1/tenancy_pb";
import type { SnapshotService } from "@muster/proto/muster/tenancy/v1/snapshot_pb";
import { callContext } from "@muster/rpc";
import { countInAudiences, unknownIds } from "../store/audience.ts";
import { devicesById } from "../store/device-facts.ts";
import { eachSnapshotBatch, type SnapshotRow, snapshotKinds, snapshotPage, tenantsById } from "../store/snapshot.ts";

const maxRows = 1_000;
const maxAudiences = 20;

/** The whole tenancy for the copies of other services. */
export function snapshotService({ db }: { db: Database }): ServiceImpl<typeof SnapshotService> {
  return {
    async getSnapshot({ cursor, limit }, handler) {
      const context = callContext(handler);
      requireService(context);
      const after = cursor === "" ? null : positionOf(cursor);
      const wanted = limit < 1 || limit > maxRows ? maxRows : limit;
      const rows = await snapshotPage(db, context, after, wanted + 1);
      const shown = rows.slice(0, wanted);
      const last = shown.at(-1);
      const nextCursor = rows.length > wanted && last ? encodeCursor([last.kind, last.id]) : "";
      return { tenants: shown.map(tenantMessage), nextCursor };
    },

    async getSnapshotHash(_request, handler) {
      const context = callContext(handler);
      requireService(context);
      const hash = createHash("sha256");
      let count = 0;
      await eachSnapshotBatch(db, context, (rows) => {
        count += rows.length;
        hash.update(rows.map(lineOf).join(""));
      });
      return { sha256: hash.digest("hex"), count: BigInt(count) };
    },

    async getTenants({ ids }, handler) {
      const context = callContext(handler);
      requireService(context);
      requireIds(ids);
      return { tenants: (await tenantsById(db, context, ids)).map(tenantMessage) };
    },

    async getDevices({ ids }, handler) {
      const context = callContext(handler);
      requireService(context);
      requireIds(ids);
      const rows = await devicesById(db, context, ids);
      const numbered = rows.map((row) => ({ ...row, version: BigInt(row.version) }));
      return {
        devices: numbered.map((row) => create(DeviceChangedSchema, row)),
        facts: numbered.map((row) => create(DeviceFactsSchema, row)),
      };
    },

    async countAudiences({ audiences, partnerId }, handler) {
      const context = callContext(handler);
      requireService(context);
      if (partnerId !== "") requireIds([partnerId]);
      if (audiences.length > maxAudiences) throw validationError({ audiences: [`At most ${maxAudiences}`] });
      for (const each of audiences) requireIds([...each.partnerIds, ...each.orgIds, ...each.siteIds, ...each.groupIds]);
      if (audiences.length === 0) return { groups: [], unknownIds: [] };
      const owner = { partnerId: partnerId || null };
      const groups = await countInAudiences(db, context, audiences, owner);
      return { groups, unknownIds: await unknownIds(db, context, audiences, owner) };
    },
  };
}

/** The input of the hash, one line per row (documented in snapshot.proto for its clients). */
function lineOf({ kind, id, version, status, deleted }: SnapshotRow): string {
  return `${kind} ${id} ${version} ${status} ${deleted ? 1 : 0}\n`;
}

function requireService({ caller }: CallContext): void {
  if (caller.actor.type !== "system") {
    throw new AppError("scope_not_allowed", "This operation is for services only");
  }
}

function requireIds(ids: readonly string[]): void {
  if (ids.length > maxRows || !ids.every(isUuid)) {
    throw validationError({ ids: [`Must be at most ${maxRows} UUIDs`] });
  }
}

function positionOf(cursor: string): { kind: string; id: string } {
  const [kind, id] = decodeCursor(cursor, ["text", "uuid"]);
  if (!snapshotKinds.includes(kind)) throw foreignCursor();
  return { kind, id };
}

function tenantMessage(row: SnapshotRow): TenantChanged {
  return create(TenantChangedSchema, {
    kind: row.kind,
    id: row.id,
    version: BigInt(row.version),
    partnerId: row.partner_id,
    orgId: row.org_id,
    status: row.status,
    deleted: row.deleted,
  });
}
