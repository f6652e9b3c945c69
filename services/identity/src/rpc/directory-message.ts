import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { type Directory, DirectorySchema } from "@muster/proto/muster/identity/v1/directory_pb";
import type { DirectoryRow, StoredCycle } from "../rules/directory/directory.ts";
import { directoryHealth } from "../rules/directory/directory-health.ts";

/** A directory as callers see it: never its tokens' secrets. */
export function directoryMessage(row: DirectoryRow): Directory {
  return create(DirectorySchema, {
    id: row.id,
    orgId: row.org_id ?? "",
    partnerId: row.org_id === null ? row.partner_id : "",
    name: row.name,
    preset: row.preset ?? "",
    status: row.status,
    providerId: row.provider_id ?? "",
    defaultRoleId: row.default_role_id ?? "",
    tokens: row.tokens.map(({ id, prefix, createdAt, expiresAt }) => ({
      id,
      prefix,
      createdAt: timestampFromDate(new Date(createdAt)),
      ...(expiresAt === null ? {} : { expiresAt: timestampFromDate(new Date(expiresAt)) }),
    })),
    ...(row.last_cycle === null ? {} : { lastCycle: cycleOf(row.last_cycle) }),
    rolesPending: row.roles_pending,
    health: directoryHealth(row),
    createdBy: row.created_by,
    createdAt: timestampFromDate(row.created_at),
    updatedAt: timestampFromDate(row.updated_at),
  });
}

const cycleOf = ({ startedAt, lastAt, requests, refused, created, changed, deleted }: StoredCycle) => ({
  startedAt: timestampFromDate(new Date(startedAt)),
  lastAt: timestampFromDate(new Date(lastAt)),
  requests: BigInt(requests),
  refused: BigInt(refused),
  created: BigInt(created),
  changed: BigInt(changed),
  deleted: BigInt(deleted),
});
