import type { ServiceImpl } from "@connectrpc/connect";
import type { ScimService } from "@muster/proto/muster/identity/v1/scim_pb";
import {
  createScimGroup,
  patchScimGroup,
  removeScimGroup,
  replaceScimGroup,
} from "../commands/directory/scim-groups.ts";
import { createScimUser, deleteScimUser, patchScimUser, replaceScimUser } from "../commands/directory/scim-users.ts";
import type { DirectoryDeps } from "../deps.ts";
import { calledBy } from "./scim-admission.ts";
import { scimMessages } from "./scim-messages.ts";
import { bodyOf, kindOf, logged, requireId } from "./scim-request.ts";
import { projectionOf } from "./scim-resource.ts";

type Handlers = Pick<
  ServiceImpl<typeof ScimService>,
  "createScimResource" | "replaceScimResource" | "patchScimResource" | "deleteScimResource"
>;

/** What a directory changes of its users and groups. */
export function scimChanges(deps: DirectoryDeps): Handlers {
  const { userWith, userMessage, groupMessage } = scimMessages(deps);

  return {
    async createScimResource(request, handler) {
      const context = calledBy(handler);
      const { digest, kind, body, projection } = request;
      const create = async () => {
        const value = bodyOf(body);
        // A new user is in no group.
        if (kindOf(kind) === "User") {
          return userWith(await createScimUser(deps, context, digest, value), [], projectionOf(projection));
        }
        return groupMessage(await createScimGroup(deps, context, digest, value), projection);
      };
      const idOf = (made: Awaited<ReturnType<typeof create>>) => made.resource.id;
      return logged(deps, context, { digest }, `POST /${kind}s`, "created", create, idOf);
    },

    async replaceScimResource(request, handler) {
      const context = calledBy(handler);
      const { digest, kind, id, body, ifMatch, projection } = request;
      return logged(deps, context, { digest, id }, `PUT /${kind}s/:id`, "changed", async () => {
        const change = { id: requireId(id), body: bodyOf(body), ifMatch };
        if (kindOf(kind) === "User") {
          return userMessage(await replaceScimUser(deps, context, digest, change), projection);
        }
        return groupMessage(await replaceScimGroup(deps, context, digest, change), projection);
      });
    },

    async patchScimResource(request, handler) {
      const context = calledBy(handler);
      const { digest, kind, id, body, ifMatch, projection } = request;
      return logged(deps, context, { digest, id }, `PATCH /${kind}s/:id`, "changed", async () => {
        const change = { id: requireId(id), body: bodyOf(body), ifMatch };
        if (kindOf(kind) === "User") return userMessage(await patchScimUser(deps, context, digest, change), projection);
        return groupMessage(await patchScimGroup(deps, context, digest, change), projection);
      });
    },

    async deleteScimResource(request, handler) {
      const context = calledBy(handler);
      const { digest, kind, id, ifMatch } = request;
      return logged(deps, context, { digest, id }, `DELETE /${kind}s/:id`, "deleted", async () => {
        const which = { id: requireId(id), ifMatch };
        if (kindOf(kind) === "User") await deleteScimUser(deps, context, digest, which);
        else await removeScimGroup(deps, context, digest, which);
        return {};
      });
    },
  };
}
