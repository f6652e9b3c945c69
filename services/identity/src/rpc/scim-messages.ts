import type { ScimProjection } from "@muster/proto/muster/identity/v1/scim_pb";
import type { DirectoryDeps } from "../deps.ts";
import { includes, type Projection } from "../rules/scim/project.ts";
import type { ScimGroupRow } from "../store/directory/scim-groups.ts";
import { type GroupOfUser, groupsOfPage, type ScimUserRow } from "../store/directory/scim-users.ts";
import { groupJson, projectionOf, resourceMessage, userJson } from "./scim-resource.ts";

/** Users and groups as replies show them, with their addresses below `scimUrl`. */
export function scimMessages({ db, scimUrl: base }: DirectoryDeps) {
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
  return { userWith, userMessage, groupMessage };
}
