import { sql } from "@muster/db";
import type { ListScimResourcesRequest } from "@muster/proto/muster/identity/v1/scim_pb";
import type { DirectoryDeps } from "../deps.ts";
import { scimInvalid } from "../rules/scim/errors.ts";
import { attributePath, parseFilter } from "../rules/scim/filter.ts";
import { includes, type Projection } from "../rules/scim/project.ts";
import type { ResourceKind } from "../rules/scim/schema.ts";
import { filterCondition, orderOf } from "../store/directory/scim-filter.ts";
import { firstMembers, listScimGroups, membersListed, type ScimGroupRow } from "../store/directory/scim-groups.ts";
import { type GroupOfUser, groupsOfPage, listScimUsers, type ScimUserRow } from "../store/directory/scim-users.ts";
import { pageMax } from "./scim-description.ts";
import { groupJson, memberJson, projectionOf, userJson } from "./scim-resource.ts";

/** Characters of one page: beyond them it ends early, as RFC 7644, section 3.4.2.4, allows. */
const pageCharacters = 8 * 1024 * 1024;

/** A page of a directory's users or groups, as JSON texts. Throws `scim_invalid`. */
export async function listPage(
  deps: DirectoryDeps,
  directoryId: string,
  kind: ResourceKind,
  request: ListScimResourcesRequest,
): Promise<{ total: bigint; startIndex: bigint; json: string[] }> {
  const { startIndex, ...page } = listOf(kind, request);
  const projection = projectionOf(request.projection);
  const found =
    kind === "User"
      ? await usersPage(deps, directoryId, page, projection)
      : await groupsPage(deps, directoryId, page, projection);
  return { total: BigInt(found.total), startIndex: BigInt(startIndex), json: withinPage(found.json) };
}

/** Condition, order and page of a list (RFC 7644, section 3.4.2). */
function listOf(kind: ResourceKind, request: ListScimResourcesRequest) {
  const { filter, sortBy, sortOrder } = request;
  const startIndex = Math.max(1, whole(request.startIndex, "startIndex") ?? 1);
  const limit = Math.min(pageMax, Math.max(0, whole(request.count, "count") ?? pageMax));
  const path = sortBy === "" ? null : attributePath(sortBy);
  return {
    where: filter.trim() === "" ? sql`true` : filterCondition(kind, parseFilter(filter)),
    order: orderOf(kind, path, sortOrder.toLowerCase() === "descending"),
    offset: startIndex - 1,
    limit,
    startIndex,
  };
}

type ListedPage = Omit<ReturnType<typeof listOf>, "startIndex">;

function whole(text: string, name: string): number | null {
  if (text.trim() === "") return null;
  const number = Number(text);
  if (Number.isSafeInteger(number) && Math.abs(number) <= 2_147_483_647) return number;
  throw scimInvalid("invalidValue", `"${name}" must be a whole number.`);
}

async function usersPage(
  { db, scimUrl }: DirectoryDeps,
  directoryId: string,
  page: ListedPage,
  projection: Projection,
) {
  const { rows, total } = await listScimUsers(db, directoryId, page);
  const isShown = rows.length > 0 && includes(projection, "groups");
  const { groups, complete } = isShown ? await groupsOfPage(db, idsOf(rows)) : { groups: [], complete: rows.length };
  const byUser = new Map<string, GroupOfUser[]>();
  for (const group of groups) {
    const listed = byUser.get(group.user_id);
    if (listed) listed.push(group);
    else byUser.set(group.user_id, [group]);
  }
  const json = rows
    .slice(0, complete)
    .map((row) => JSON.stringify(userJson(row, byUser.get(row.user_id) ?? [], scimUrl, projection)));
  return { json, total };
}

const idsOf = (rows: readonly ScimUserRow[]) => rows.map(({ user_id }) => user_id);

/** Groups with their members; one that has more than `membersListed` of them is listed without. */
async function groupsPage(
  { db, scimUrl }: DirectoryDeps,
  directoryId: string,
  page: ListedPage,
  projection: Projection,
) {
  const { rows, total } = await listScimGroups(db, directoryId, page);
  const isShown = rows.length > 0 && includes(projection, "members");
  const ids = rows.map(({ id }) => id);
  const members = isShown ? await firstMembers(db, ids, membersListed + 1) : new Map<string, string[]>();
  const json = rows.map((row: ScimGroupRow) => {
    const group = groupJson(row, scimUrl, projection);
    const found = members.get(row.id) ?? [];
    if (found.length === 0 || found.length > membersListed) return JSON.stringify(group);
    return JSON.stringify({ ...group, members: found.map((member) => memberJson(member, scimUrl)) });
  });
  return { json, total };
}

/** As many resources as one message carries, and at least one. */
function withinPage(json: readonly string[]): string[] {
  let characters = 0;
  const end = json.findIndex((one, at) => {
    characters += one.length;
    return at > 0 && characters > pageCharacters;
  });
  return end < 0 ? [...json] : json.slice(0, end);
}
