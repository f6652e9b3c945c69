import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import { AppError, type CallContext, isUuid } from "@muster/kit";
import type {
  GetScimResourceRequest,
  ListScimResourcesRequest,
  ScimProjection,
  ScimService,
} from "@muster/proto/muster/identity/v1/scim_pb";
import { callContext } from "@muster/rpc";
import { requireClient } from "../commands/directory/client.ts";
import {
  createScimGroup,
  patchScimGroup,
  removeScimGroup,
  replaceScimGroup,
} from "../commands/directory/scim-groups.ts";
import { createScimUser, deleteScimUser, patchScimUser, replaceScimUser } from "../commands/directory/scim-users.ts";
import type { DirectoryDeps } from "../deps.ts";
import { withoutValues } from "../emits/request-log.ts";
import { scimInvalid, scimNotFound } from "../rules/scim/errors.ts";
import { includes, type Projection } from "../rules/scim/project.ts";
import type { ResourceKind } from "../rules/scim/schema.ts";
import { findScimGroup, membersAfter, type ScimGroupRow } from "../store/directory/scim-groups.ts";
import { findScimUser, type GroupOfUser, groupsOfPage, type ScimUserRow } from "../store/directory/scim-users.ts";
import { describeScim } from "./scim-description.ts";
import { listPage } from "./scim-list.ts";
import { groupJson, memberJson, projectionOf, resourceMessage, userJson } from "./scim-resource.ts";

/** Members in one page of ListScimMembers. */
const membersPage = 2_000;
/** Characters of a filter in the log. */
const filterShown = 500;
const decoder = new TextDecoder();

/** SCIM 2.0 for directories (docs/directory.md), called by gateways alone. */
export function scimService(deps: DirectoryDeps): ServiceImpl<typeof ScimService> {
  const { db, scimUrl: base } = deps;

  const userWith = (row: ScimUserRow, groups: readonly GroupOfUser[], projection: Projection) => ({
    resource: resourceMessage("User", row.user_id, row.version, userJson(row, groups, base, projection), base),
  });
  const userMessage = async (row: ScimUserRow, shown: ScimProjection | undefined) => {
    const projection = projectionOf(shown);
    const groups = includes(projection, "groups") ? (await groupsOfPage(db, [row.user_id])).groups : [];
    return userWith(row, groups, projection);
  };
  const groupMessage = (row: ScimGroupRow, shown: ScimProjection | undefined) => ({
    resource: resourceMessage("Group", row.id, row.version, groupJson(row, base, projectionOf(shown)), base),
  });

  const list = async (request: ListScimResourcesRequest) => {
    const { id: directoryId } = await requireClient(db, request.digest);
    return listPage(deps, directoryId, kindOf(request.kind), request);
  };
  const get = async ({ digest, kind, id, projection }: GetScimResourceRequest) => {
    const client = await requireClient(db, digest);
    requireId(id);
    if (kindOf(kind) === "User") {
      const row = await findScimUser(db, client.id, id);
      if (!row) throw scimNotFound();
      return userMessage(row, projection);
    }
    const row = await findScimGroup(db, client.id, id);
    if (!row) throw scimNotFound();
    return groupMessage(row, projection);
  };
  /** Logs what `work` did for a request, whether it was served or refused. */
  const logged = async <T>(
    context: CallContext,
    { digest, id = "", filter = "" }: { digest: Uint8Array; id?: string; filter?: string },
    operation: string,
    effect: "created" | "changed" | "deleted" | null,
    work: () => Promise<T>,
    idOf: (done: T) => string = () => id,
  ): Promise<T> => {
    const { requestId } = context.meta;
    const shown = {
      digest,
      operation,
      filter: filter === "" ? null : withoutValues(filter).slice(0, filterShown),
      requestId,
    };
    try {
      const done = await work();
      deps.requests.note({ ...shown, resourceId: idOf(done) || null, effect }, null);
      return done;
    } catch (failure) {
      deps.requests.note({ ...shown, resourceId: isUuid(id) ? id : null, effect: null }, failure);
      throw failure;
    }
  };

  return {
    async resolveDirectory({ digest }, handler) {
      calledBy(handler);
      const { id, token_id, name, partner_id, org_id } = await requireClient(db, digest);
      return { directoryId: id, tokenId: token_id, name, partnerId: partner_id, orgId: org_id ?? "" };
    },

    async getScimDescription({ digest, kind, id }, handler) {
      calledBy(handler);
      await requireClient(db, digest);
      return { json: JSON.stringify(describeScim(kind, id, base)) };
    },

    async listScimResources(request, handler) {
      const context = calledBy(handler);
      return logged(context, request, `GET /${request.kind}s`, null, () => list(request));
    },

    async getScimResource(request, handler) {
      const context = calledBy(handler);
      return logged(context, request, `GET /${request.kind}s/:id`, null, () => get(request));
    },

    async listScimMembers({ digest, id, after }, handler) {
      calledBy(handler);
      const client = await requireClient(db, digest);
      requireId(id);
      if (!(await findScimGroup(db, client.id, id))) throw scimNotFound();
      const ids = await membersAfter(db, id, isUuid(after) ? after : null, membersPage);
      const json = ids.map((member) => JSON.stringify(memberJson(member, base)));
      return { json, next: ids.length === membersPage ? (ids.at(-1) ?? "") : "" };
    },

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
      return logged(context, { digest }, `POST /${kind}s`, "created", create, idOf);
    },

    async replaceScimResource(request, handler) {
      const context = calledBy(handler);
      const { digest, kind, id, body, ifMatch, projection } = request;
      return logged(context, { digest, id }, `PUT /${kind}s/:id`, "changed", async () => {
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
      return logged(context, { digest, id }, `PATCH /${kind}s/:id`, "changed", async () => {
        const change = { id: requireId(id), body: bodyOf(body), ifMatch };
        if (kindOf(kind) === "User") return userMessage(await patchScimUser(deps, context, digest, change), projection);
        return groupMessage(await patchScimGroup(deps, context, digest, change), projection);
      });
    },

    async deleteScimResource(request, handler) {
      const context = calledBy(handler);
      const { digest, kind, id, ifMatch } = request;
      return logged(context, { digest, id }, `DELETE /${kind}s/:id`, "deleted", async () => {
        const which = { id: requireId(id), ifMatch };
        if (kindOf(kind) === "User") await deleteScimUser(deps, context, digest, which);
        else await removeScimGroup(deps, context, digest, which);
        return {};
      });
    },
  };
}

/** Throws `permission_denied` for all but gateways: the directory's token is all that a call shows of its caller. */
function calledBy(handler: HandlerContext): CallContext {
  const context = callContext(handler);
  const { actor } = context.caller;
  if (actor.type === "system" && actor.id === "gateway") return context;
  throw new AppError("permission_denied", "Only gateways may call this");
}

function kindOf(kind: string): ResourceKind {
  if (kind === "User" || kind === "Group") return kind;
  throw scimNotFound();
}

/** An id that no resource can have is one that is not found. */
function requireId(id: string): string {
  if (!isUuid(id)) throw scimNotFound();
  return id.toLowerCase();
}

function bodyOf(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(decoder.decode(bytes)) as unknown;
  } catch (cause) {
    if (cause instanceof SyntaxError) throw scimInvalid("invalidSyntax", "The body is no JSON.");
    throw cause;
  }
}
