import type { ServiceImpl } from "@connectrpc/connect";
import { clampPage } from "@muster/kit";
import type { DirectoryService } from "@muster/proto/muster/identity/v1/directory_pb";
import { callContext } from "@muster/rpc";
import { directoryPresets } from "../rules/directory/presets.ts";
import { listDirectories } from "../store/directory/directories.ts";
import { directoryChanges, type ManagedDeps } from "./directory-changes.ts";
import { directoryContents } from "./directory-contents.ts";
import { directoryGuards } from "./directory-guards.ts";
import { directoryMessage } from "./directory-message.ts";
import { directoryTokens } from "./directory-tokens.ts";
import { ownerFilter } from "./list-filters.ts";
import { roleMappingHandlers } from "./role-mapping.ts";

/** Directories that provision users and groups (docs/directory.md). */
export function directoryService(deps: ManagedDeps): ServiceImpl<typeof DirectoryService> {
  const { db } = deps;
  const { requireReader, requireOwn } = directoryGuards(deps);

  return {
    ...directoryChanges(deps),
    ...directoryTokens(deps),
    ...directoryContents(deps),
    ...roleMappingHandlers(deps),

    async listDirectoryPresets(_request, handler) {
      requireReader(callContext(handler));
      return { presets: [...directoryPresets] };
    },

    async listDirectories(request, handler) {
      const context = callContext(handler);
      requireReader(context);
      const filter = await ownerFilter(deps, context, request);
      const { rows, info } = await listDirectories(db, context, filter, clampPage(request.page ?? {}));
      return { directories: rows.map(directoryMessage), page: info };
    },

    async getDirectory({ id }, handler) {
      const context = callContext(handler);
      requireReader(context);
      return { directory: directoryMessage(await requireOwn(context, id)) };
    },
  };
}
