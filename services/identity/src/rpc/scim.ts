import type { ServiceImpl } from "@connectrpc/connect";
import { type CallContext, isUuid } from "@muster/kit";
import type {
  GetScimResourceRequest,
  ListScimResourcesRequest,
  ScimProjection,
  ScimService,
} from "@muster/proto/muster/identity/v1/scim_pb";
import { readAsDirectory, requireClient } from "../commands/directory/client.ts";
import {
  createScimGroup,
  patchScimGroup,
  removeScimGroup,
  replaceScimGroup,
} from "../commands/directory/scim-groups.ts";
import { createScimUser, deleteScimUser, patchScimUser, replaceScimUser } from "../commands/directory/scim-users.ts";
import type { DirectoryDeps } from "../deps.ts";
import { refusedBy, served, withoutValues } from "../emits/request-log.ts";
import { scimInvalid, scimNotFound } from "../rules/scim/errors.ts";
import { includes, type Projection } from "../rules/scim/project.ts";
import type { ResourceKind } from "../rules/scim/schema.ts";
import { findScimGroup, membersAfter, type ScimGroupRow } from "../store/directory/scim-groups.ts";
import { findScimUser, type GroupOfUser, groupsOfPage, type ScimUserRow } from "../store/directory/scim-users.ts";
import { calledBy, scimAdmission } from "./scim-admission.ts";
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
      deps.requests.note({ ...shown, resourceId: idOf(done) || null, effect }, served);
      return done;
    } catch (failure) {
      deps.requests.note({ ...shown, resourceId: isUuid(id) ? id : null, effect: null }, refusedBy(failure));
      throw failure;
    }
  };

  return {
    ...scimAdmission(deps),

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
      const ids = await readAsDirectory(db, digest, async (client) => {
        requireId(id);
        if (!(await findScimGroup(db, client.id, id))) throw scimNotFound();
        return membersAfter(db, id, isUuid(after) ? after : null, membersPage);
      });
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
