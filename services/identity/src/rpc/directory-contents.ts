import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import { clampPage } from "@muster/kit";
import type { DirectoryService } from "@muster/proto/muster/identity/v1/directory_pb";
import { callContext } from "@muster/rpc";
import type { KeyDeps } from "../deps.ts";
import { listDirectoryGroups } from "../store/directory/groups.ts";
import { listRequests } from "../store/directory/requests.ts";
import { directoryGuards } from "./directory-guards.ts";

type Handlers = Pick<ServiceImpl<typeof DirectoryService>, "listDirectoryGroups" | "listDirectoryRequests">;

/** What a directory has sent: its groups, and the log of its requests. */
export function directoryContents(deps: KeyDeps): Handlers {
  const { db } = deps;
  const { requireReadable } = directoryGuards(deps);

  return {
    async listDirectoryGroups({ id, page }, handler) {
      const context = callContext(handler);
      const directory = await requireReadable(context, id);
      const { rows, info } = await listDirectoryGroups(db, context, directory.id, clampPage(page ?? {}));
      const groups = rows.map((row) => ({
        id: row.id,
        name: row.display_name,
        externalId: row.external_id ?? "",
        members: BigInt(row.members),
        updatedAt: timestampFromDate(row.updated_at),
      }));
      return { groups, page: info };
    },

    async listDirectoryRequests({ id, page, refused }, handler) {
      const context = callContext(handler);
      const { id: directoryId } = await requireReadable(context, id);
      const { rows, info } = await listRequests(db, context, { directoryId, refused }, clampPage(page ?? {}));
      const requests = rows.map((row) => ({
        id: row.id,
        at: timestampFromDate(row.created_at),
        operation: row.operation,
        resourceId: row.resource_id ?? "",
        filter: row.filter ?? "",
        outcome: row.outcome,
        scimType: row.scim_type ?? "",
        detail: row.detail ?? "",
        requestId: row.request_id ?? "",
      }));
      return { requests, page: info };
    },
  };
}
