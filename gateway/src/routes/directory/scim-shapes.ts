import { z } from "zod";
import { exampleId } from "../fields/schemas.ts";

export const readErrors = ["scim_resource_not_found", "scim_invalid"] as const;
export const writeErrors = [...readErrors, "scim_uniqueness", "last_administrator"] as const;
export const changeErrors = [...writeErrors, "scim_version_mismatch"] as const;

/** Members of a group in one body: about 100,000. */
export const scimBodyLimitBytes = 8 * 1024 * 1024;

export const scimIdParams = z.object({ id: z.string().max(255) });
const text = z.string().max(8_192).optional();
const projection = {
  attributes: text.meta({ description: "Only these attributes, comma-separated." }),
  excludedAttributes: text.meta({ description: "All attributes but these, comma-separated." }),
};
export const shownQuery = z.object(projection);
export const scimListQuery = z.object({
  filter: text.meta({ description: "RFC 7644, section 3.4.2.2.", example: 'userName eq "ada@acme.example"' }),
  sortBy: text,
  sortOrder: text.meta({ description: "ascending or descending." }),
  startIndex: text.meta({ description: "Position of the first resource, from 1.", default: "1" }),
  count: text.meta({ description: "Resources a page, 0 to 200.", default: "200" }),
  ...projection,
});

export const resource = z.looseObject({ schemas: z.array(z.string()).optional(), id: z.string().optional() });
export const body = z.looseObject({}).meta({ description: "The resource (RFC 7643); unknown attributes are ignored." });
export const patchBody = z
  .looseObject({})
  .meta({ description: "A PatchOp with `Operations` (RFC 7644, section 3.5.2)." });

const version = { ETag: "Version of the resource." };
export const answers = {
  200: { description: "The resource", headers: version },
  201: { description: "The new resource", headers: { ...version, Location: "URL of the resource." } },
  204: { description: "Done, without a body" },
  304: { description: "Not changed since If-None-Match" },
} as const;

/** As the OpenAPI document shows them. */
export const examples = {
  User: { userName: "ada@acme.example", displayName: "Ada Lovelace", active: true },
  Group: { displayName: "Engineers", members: [{ value: exampleId }] },
  patch: { Operations: [{ op: "replace", path: "displayName", value: "Analysts" }] },
};

export type Kind = "User" | "Group";

/** What the routes of one kind of resource differ in. */
export interface ScimResource {
  kind: Kind;
  noun: "user" | "group";
  path: string;
  audit: { create: string; update: string; delete: string };
  auditResource: string;
}

export const userResource = {
  kind: "User",
  noun: "user",
  path: "/scim/v2/Users",
  audit: { create: "user.create", update: "user.update", delete: "user.delete" },
  auditResource: "user",
} as const satisfies ScimResource;

export const groupResource = {
  kind: "Group",
  noun: "group",
  path: "/scim/v2/Groups",
  audit: { create: "directory.group.create", update: "directory.group.update", delete: "directory.group.delete" },
  auditResource: "directory_group",
} as const satisfies ScimResource;
