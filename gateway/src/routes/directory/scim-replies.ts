import type { ListScimMembersResponse, ListScimResourcesResponse } from "@muster/proto/muster/identity/v1/scim_pb";

type Shown = { attributes?: string | undefined; excludedAttributes?: string | undefined };

export const projectionOf = ({ attributes = "", excludedAttributes = "" }: Shown) => ({
  attributes,
  excludedAttributes,
});

const namesIn = (text = "") =>
  text
    .split(",")
    .map((name) =>
      name
        .trim()
        .toLowerCase()
        .replace(/^urn:.*:/, ""),
    )
    .filter((name) => name !== "");

/** Whether a reply shows the members of a group, which are read apart. */
export function includesMembers({ attributes, excludedAttributes }: Shown): boolean {
  const wanted = namesIn(attributes);
  if (wanted.length > 0) return wanted.some((name) => name === "members" || name.startsWith("members."));
  return !namesIn(excludedAttributes).includes("members");
}

/** Whether a PATCH has operations; one without changes nothing. */
export function hasOperations(body: unknown): boolean {
  const found = Object.entries((body ?? {}) as object).find(([name]) => name.toLowerCase() === "operations");
  return !Array.isArray(found?.[1]) || found[1].length > 0;
}

export type ScimPage = Pick<ListScimResourcesResponse, "total" | "startIndex" | "json">;

/** A ListResponse (RFC 7644, section 3.4.2) as JSON text. */
export function listText({ total, startIndex, json }: ScimPage): string {
  const head = {
    schemas: ["urn:ietf:params:scim:api:messages:2.0:ListResponse"],
    totalResults: Number(total),
    startIndex: Number(startIndex),
    itemsPerPage: json.length,
  };
  return `${JSON.stringify(head).slice(0, -1)},"Resources":[${json.join(",")}]}`;
}

/** JSON text of a group with its members, in pieces of a page each; a group without members has no such attribute. */
export async function* groupFrom(
  group: string,
  first: ListScimMembersResponse,
  pageAfter: (after: string) => Promise<ListScimMembersResponse>,
): AsyncGenerator<Uint8Array, undefined> {
  if (first.json.length === 0) {
    yield Buffer.from(group);
    return;
  }
  yield Buffer.from(`${group.slice(0, -1)},"members":[${first.json.join(",")}`);
  for (let { next } = first; next !== ""; ) {
    const page = await pageAfter(next);
    if (page.json.length > 0) yield Buffer.from(`,${page.json.join(",")}`);
    ({ next } = page);
  }
  yield Buffer.from("]}");
}
