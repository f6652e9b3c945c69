import { create } from "@bufbuild/protobuf";
import { weakEntityTag } from "@muster/kit";
import { type ScimProjection, type ScimResource, ScimResourceSchema } from "@muster/proto/muster/identity/v1/scim_pb";
import { documentOf } from "../commands/directory/scim-groups.ts";
import { groupResource, type ScimDocument, schemasOf, userResource } from "../rules/scim/document.ts";
import { namesIn, type Projection, project } from "../rules/scim/project.ts";
import type { ScimGroupRow } from "../store/directory/scim-groups.ts";
import type { GroupOfUser, ScimUserRow } from "../store/directory/scim-users.ts";

export const projectionOf = (message: ScimProjection | undefined): Projection => ({
  attributes: namesIn(message?.attributes ?? ""),
  excluded: namesIn(message?.excludedAttributes ?? ""),
});

type Stored = { version: number; created_at: Date; updated_at: Date };

const metaOf = (resourceType: string, location: string, { version, created_at, updated_at }: Stored) => ({
  resourceType,
  created: created_at.toISOString(),
  lastModified: updated_at.toISOString(),
  location,
  version: weakEntityTag(version),
});

const userLocation = (base: string, id: string) => `${base}/Users/${id}`;
const groupLocation = (base: string, id: string) => `${base}/Groups/${id}`;

/** A user as its directory sees it. */
export function userJson(
  row: ScimUserRow,
  groups: readonly GroupOfUser[],
  base: string,
  projection: Projection,
): ScimDocument {
  const location = userLocation(base, row.user_id);
  const shown = groups.map(({ id, display_name: display }) => ({ value: id, $ref: groupLocation(base, id), display }));
  return project(
    {
      schemas: schemasOf(userResource, row.document),
      id: row.user_id,
      ...row.document,
      ...(shown.length > 0 ? { groups: shown } : {}),
      meta: metaOf("User", location, row),
    },
    projection,
  );
}

/** A group without its members. */
export function groupJson(row: ScimGroupRow, base: string, projection: Projection): ScimDocument {
  return project(
    {
      schemas: [groupResource.schema.id],
      id: row.id,
      ...documentOf(row),
      meta: metaOf("Group", groupLocation(base, row.id), row),
    },
    projection,
  );
}

export const memberJson = (userId: string, base: string) => ({
  value: userId,
  $ref: userLocation(base, userId),
  type: "User",
});

/** A resource as it travels to the gateway. */
export const resourceMessage = (
  kind: "User" | "Group",
  id: string,
  version: number,
  json: ScimDocument,
  base: string,
) =>
  create(ScimResourceSchema, {
    id,
    version: BigInt(version),
    json: JSON.stringify(json),
    location: kind === "User" ? userLocation(base, id) : groupLocation(base, id),
  }) satisfies ScimResource;
