import type { ServiceImpl } from "@connectrpc/connect";
import { isUuid } from "@muster/kit";
import type {
  GetScimResourceRequest,
  ListScimResourcesRequest,
  ScimService,
} from "@muster/proto/muster/identity/v1/scim_pb";
import { readAsDirectory, requireClient } from "../commands/directory/client.ts";
import type { DirectoryDeps } from "../deps.ts";
import { scimNotFound } from "../rules/scim/errors.ts";
import { findScimGroup, membersAfter } from "../store/directory/scim-groups.ts";
import { findScimUser } from "../store/directory/scim-users.ts";
import { calledBy } from "./scim-admission.ts";
import { describeScim } from "./scim-description.ts";
import { listPage } from "./scim-list.ts";
import { scimMessages } from "./scim-messages.ts";
import { kindOf, logged, requireId } from "./scim-request.ts";
import { memberJson } from "./scim-resource.ts";

/** Members in one page of ListScimMembers. */
const membersPage = 2_000;

type Handlers = Pick<
  ServiceImpl<typeof ScimService>,
  "getScimDescription" | "listScimResources" | "getScimResource" | "listScimMembers"
>;

/** What a directory reads of its users and groups. */
export function scimReads(deps: DirectoryDeps): Handlers {
  const { db, scimUrl: base } = deps;
  const { userMessage, groupMessage } = scimMessages(deps);

  const list = (request: ListScimResourcesRequest) =>
    readAsDirectory(db, request.digest, async ({ id }) => listPage(deps, id, kindOf(request.kind), request));
  const get = ({ digest, kind, id, projection }: GetScimResourceRequest) =>
    readAsDirectory(db, digest, async (client) => {
      requireId(id);
      if (kindOf(kind) === "User") {
        const row = await findScimUser(db, client.id, id);
        if (!row) throw scimNotFound();
        return userMessage(row, projection);
      }
      const row = await findScimGroup(db, client.id, id);
      if (!row) throw scimNotFound();
      return groupMessage(row, projection);
    });

  return {
    async getScimDescription({ digest, kind, id }, handler) {
      calledBy(handler);
      await requireClient(db, digest);
      return { json: JSON.stringify(describeScim(kind, id, base)) };
    },

    async listScimResources(request, handler) {
      const context = calledBy(handler);
      return logged(deps, context, request, `GET /${request.kind}s`, null, () => list(request));
    },

    async getScimResource(request, handler) {
      const context = calledBy(handler);
      return logged(deps, context, request, `GET /${request.kind}s/:id`, null, () => get(request));
    },

    async listScimMembers({ digest, id, after }, handler) {
      calledBy(handler);
      const ids = await readAsDirectory(db, digest, async (client) => {
        requireId(id);
        if (!(await findScimGroup(db, client.id, id))) throw scimNotFound();
        return membersAfter(db, id, isUuid(after) ? after : null, membersPage);
      });
      const json = ids.map((member) => JSON.stringify(memberJson(member, base)));
      return { json, next: ids.length === membersPage ? (ids.at(-1) ?? "") : "" };
    },
  };
}
