import { toAppError } from "@muster/rpc";
import { z } from "zod";
import type { Services } from "../../clients/services.ts";
import { scimType } from "../../http/scim-errors.ts";
import { Rendered } from "../../route/reply.ts";
import { type Route, type RouteRequest, route } from "../../route/route.ts";
import { common, list } from "./scim-common.ts";
import { listText, type ScimPage } from "./scim-replies.ts";

const text = z.string().max(8_192).optional();
const names = z.array(z.string().max(255)).max(100).optional();
const whole = z.int().optional();
const body = z
  .looseObject({
    filter: text,
    sortBy: text,
    sortOrder: text,
    startIndex: whole,
    count: whole,
    attributes: names,
    excludedAttributes: names,
  })
  .meta({ description: "A SearchRequest (RFC 7644, section 3.4.3): the parameters of a list." });

type Search = z.output<typeof body>;
type Kind = "User" | "Group";

/** As many resources as a page has when a search names no number. */
const pageMax = 200;

function searchRoute(path: string, kinds: readonly Kind[], summary: string): Route {
  return route({
    ...common,
    method: "POST",
    path: `/scim/v2${path}/.search`,
    summary,
    description: "As the list by GET, without parameters in the address.",
    body,
    example: { filter: "id pr" },
    reply: list,
    errors: ["scim_invalid"],
    async handle({ session: { digest }, body: search, rpc }, { services }) {
      const pageOf = (kind: Kind, startIndex: number, count: number) =>
        listed(services, rpc, { digest, kind, search, startIndex, count });
      return new Rendered(listText(await pageOfAll(kinds, search, pageOf)), scimType);
    },
  });
}

type PageOf = (kind: Kind, startIndex: number, count: number) => Promise<ScimPage>;

/**
 * One page over resources of several kinds, those of the first kind first. A filter that names attributes of one kind
 * alone finds none of the others (RFC 7644, section 3.4.2.1); one that fits no kind is refused.
 */
async function pageOfAll(kinds: readonly Kind[], search: Search, pageOf: PageOf): Promise<ScimPage> {
  const startIndex = Math.max(1, search.startIndex ?? 1);
  const wanted = Math.min(pageMax, Math.max(0, search.count ?? pageMax));
  const page = { total: 0n, startIndex: BigInt(startIndex), json: [] as string[] };
  let refusal: unknown;
  let served = 0;
  for (const kind of kinds) {
    const before = Number(page.total);
    const from = Math.max(1, startIndex - before);
    // A page of an earlier kind that ended early ends the whole page.
    const isEnded = startIndex - 1 + page.json.length < before;
    try {
      const found = await pageOf(kind, from, isEnded ? 0 : wanted - page.json.length);
      page.total += found.total;
      page.json.push(...found.json);
      served += 1;
    } catch (error) {
      if (toAppError(error).code !== "scim_invalid") throw error;
      refusal ??= error;
    }
  }
  if (served === 0) throw refusal;
  return page;
}

type Wanted = { digest: Uint8Array; kind: Kind; search: Search; startIndex: number; count: number };

async function listed(
  services: Services,
  rpc: RouteRequest["rpc"],
  { digest, kind, search, startIndex, count }: Wanted,
): Promise<ScimPage> {
  const { filter = "", sortBy = "", sortOrder = "", attributes = [], excludedAttributes = [] } = search;
  const projection = { attributes: attributes.join(","), excludedAttributes: excludedAttributes.join(",") };
  const page = { startIndex: String(startIndex), count: String(count) };
  return services.scim.listScimResources({ digest, kind, filter, sortBy, sortOrder, ...page, projection }, await rpc());
}

/** Lists by POST (RFC 7644, section 3.4.3). */
export const scimSearchRoutes: readonly Route[] = [
  searchRoute("", ["User", "Group"], "Search users and groups"),
  searchRoute("/Users", ["User"], "Search users"),
  searchRoute("/Groups", ["Group"], "Search groups"),
];
