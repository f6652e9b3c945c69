import { locationLine, weakEntityTag } from "@muster/kit";
import { z } from "zod";
import type { Services } from "../../clients/services.ts";
import { scimType } from "../../http/scim-errors.ts";
import type { DirectoryClient } from "../../route/credential.ts";
import { Answered, Rendered, Streamed } from "../../route/reply.ts";
import { noBody, type Route, type RouteRequest, route } from "../../route/route.ts";
import { exampleId } from "../fields/schemas.ts";
import { common, list } from "./scim-common.ts";
import { groupFrom, hasOperations, includesMembers, listText, projectionOf } from "./scim-replies.ts";
import { scimSearchRoutes } from "./scim-search.ts";

const readErrors = ["scim_resource_not_found", "scim_invalid"] as const;
const writeErrors = [...readErrors, "scim_uniqueness", "last_administrator"] as const;
const changeErrors = [...writeErrors, "scim_version_mismatch"] as const;

/** Members of a group in one body: about 100,000. */
const bodyLimitBytes = 8 * 1024 * 1024;

const idParams = z.object({ id: z.string().max(255) });
const text = z.string().max(8_192).optional();
const projection = {
  attributes: text.meta({ description: "Only these attributes, comma-separated." }),
  excludedAttributes: text.meta({ description: "All attributes but these, comma-separated." }),
};
const shownQuery = z.object(projection);
const listQuery = z.object({
  filter: text.meta({ description: "RFC 7644, section 3.4.2.2.", example: 'userName eq "ada@acme.example"' }),
  sortBy: text,
  sortOrder: text.meta({ description: "ascending or descending." }),
  startIndex: text.meta({ description: "Position of the first resource, from 1.", default: "1" }),
  count: text.meta({ description: "Resources a page, 0 to 200.", default: "200" }),
  ...projection,
});

const resource = z.looseObject({ schemas: z.array(z.string()).optional(), id: z.string().optional() });
const description = z.looseObject({ schemas: z.array(z.string()) });
const body = z.looseObject({}).meta({ description: "The resource (RFC 7643); unknown attributes are ignored." });
const patchBody = z.looseObject({}).meta({ description: "A PatchOp with `Operations` (RFC 7644, section 3.5.2)." });

const version = { ETag: "Version of the resource." };
const answers = {
  200: { description: "The resource", headers: version },
  201: { description: "The new resource", headers: { ...version, Location: "URL of the resource." } },
  204: { description: "Done, without a body" },
  304: { description: "Not changed since If-None-Match" },
} as const;

/** As the OpenAPI document shows them. */
const examples = {
  User: { userName: "ada@acme.example", displayName: "Ada Lovelace", active: true },
  Group: { displayName: "Engineers", members: [{ value: exampleId }] },
  patch: { Operations: [{ op: "replace", path: "displayName", value: "Analysts" }] },
};

type Kind = "User" | "Group";
type Described = "ServiceProviderConfig" | "ResourceTypes" | "Schemas";
type Shown = z.output<typeof shownQuery>;
type Request<P, Q> = Pick<RouteRequest<{ auth: "directory" }, P, Q>, "session" | "params" | "query" | "rpc">;

const json = (document: string) => new Rendered(document, scimType);

function describe(kind: Described) {
  const of = async (services: Services, session: DirectoryClient, id: string, rpc: RouteRequest["rpc"]) => {
    const { digest } = session;
    return json((await services.scim.getScimDescription({ digest, kind, id }, await rpc())).json);
  };
  const all = route({
    ...common,
    method: "GET",
    path: `/scim/v2/${kind}`,
    summary: kind === "ServiceProviderConfig" ? "What is supported (RFC 7643, section 5)" : `All ${kind}`,
    reply: description,
    handle: async ({ session, rpc }, { services }) => of(services, session, "", rpc),
  });
  if (kind === "ServiceProviderConfig") return [all];
  const one = route({
    ...common,
    method: "GET",
    path: `/scim/v2/${kind}/:id`,
    summary: `One of ${kind}`,
    params: idParams,
    reply: description,
    errors: ["scim_resource_not_found"],
    handle: async ({ session, params, rpc }, { services }) => of(services, session, params.id, rpc),
  });
  return [all, one];
}

/** The routes of one kind of resource. */
function resourceRoutes(kind: Kind, noun: "user" | "group") {
  const path = `/scim/v2/${kind}s`;
  const audit = (verb: "create" | "update" | "delete") =>
    kind === "User" ? `user.${verb}` : `directory.group.${verb}`;
  const auditResource = kind === "User" ? "user" : "directory_group";

  const find = route({
    ...common,
    method: "GET",
    path,
    summary: `List or find ${noun}s`,
    query: listQuery,
    reply: list,
    errors: ["scim_invalid"],
    async handle({ session: { digest }, query, rpc }, { services }) {
      const { filter = "", sortBy = "", sortOrder = "", startIndex = "", count = "" } = query;
      const wanted = { digest, kind, filter, sortBy, sortOrder, startIndex, count, projection: projectionOf(query) };
      return json(listText(await services.scim.listScimResources(wanted, await rpc())));
    },
  });

  const get = route({
    ...common,
    method: "GET",
    path: `${path}/:id`,
    summary: `One ${noun}`,
    params: idParams,
    query: shownQuery,
    answers: { 200: answers[200], 304: answers[304] },
    reply: resource,
    errors: readErrors,
    async handle({ session, params, query, rpc, conditions }, { services }) {
      const { digest } = session;
      const wanted = { digest, kind, id: params.id, projection: projectionOf(query) };
      const found = await services.scim.getScimResource(wanted, await rpc());
      const etag = weakEntityTag(found.resource?.version ?? 0n);
      if (conditions().ifNoneMatch === etag) return new Answered(304, ["ETag", etag]);
      return shown(200, { session, params, query, rpc }, services, found.resource);
    },
  });

  const create = route({
    ...common,
    method: "POST",
    path,
    audit: audit("create"),
    auditResource,
    summary: `Create a ${noun}`,
    description:
      kind === "User"
        ? "No mail is sent. An account of the tenant that has the address is taken over; a repeat is 409 `uniqueness` and changes nothing."
        : "A repeat is 409 `uniqueness` and changes nothing.",
    query: shownQuery,
    body,
    example: examples[kind],
    bodyLimitBytes,
    status: 201,
    answers: { 201: answers[201] },
    reply: resource,
    errors: writeErrors,
    async handle({ session, query, bodyBytes, rpc }, { services }) {
      const { digest } = session;
      const wanted = { digest, kind, body: bodyBytes, projection: projectionOf(query) };
      const made = await services.scim.createScimResource(wanted, await rpc());
      return shown(201, { session, params: { id: made.resource?.id ?? "" }, query, rpc }, services, made.resource);
    },
  });

  const replace = route({
    ...common,
    method: "PUT",
    path: `${path}/:id`,
    audit: audit("update"),
    auditResource,
    summary: `Replace a ${noun}`,
    params: idParams,
    query: shownQuery,
    body,
    example: examples[kind],
    bodyLimitBytes,
    answers: { 200: answers[200] },
    reply: resource,
    errors: changeErrors,
    async handle({ session, params, query, bodyBytes, rpc, conditions }, { services }) {
      const ifMatch = conditions().ifMatch ?? "";
      const wanted = {
        digest: session.digest,
        kind,
        ...params,
        ifMatch,
        body: bodyBytes,
        projection: projectionOf(query),
      };
      const done = await services.scim.replaceScimResource(wanted, await rpc());
      return shown(200, { session, params, query, rpc }, services, done.resource);
    },
  });

  const patch = route({
    ...common,
    method: "PATCH",
    path: `${path}/:id`,
    audit: audit("update"),
    auditResource,
    summary: `Change a ${noun}`,
    description:
      kind === "User"
        ? "`active: false` ends all sessions of the user before the reply. Without operations 204."
        : "Answers 204, or the group where `attributes` asks for some. Members that are added twice, or removed and absent, change nothing.",
    params: idParams,
    query: shownQuery,
    body: patchBody,
    example: examples.patch,
    bodyLimitBytes,
    answers: { 200: answers[200], 204: answers[204] },
    reply: resource,
    errors: changeErrors,
    async handle({ session, params, query, body: sent, bodyBytes, rpc, conditions }, { services }) {
      const ifMatch = conditions().ifMatch ?? "";
      const wanted = {
        digest: session.digest,
        kind,
        ...params,
        ifMatch,
        body: bodyBytes,
        projection: projectionOf(query),
      };
      const { resource: changed } = await services.scim.patchScimResource(wanted, await rpc());
      const isBare = kind === "Group" ? query.attributes === undefined : !hasOperations(sent);
      const etag = weakEntityTag(changed?.version ?? 0n);
      if (isBare) return new Answered(204, ["ETag", etag]);
      return shown(200, { session, params, query, rpc }, services, changed);
    },
  });

  const remove = route({
    ...common,
    method: "DELETE",
    path: `${path}/:id`,
    audit: audit("delete"),
    auditResource,
    summary: `Delete a ${noun}`,
    description: kind === "User" ? "Ends all sessions of the user before the reply; the audit trail stays." : "",
    params: idParams,
    status: 204,
    reply: noBody,
    errors: ["scim_resource_not_found", "scim_version_mismatch", "last_administrator"],
    async handle({ session: { digest }, params, rpc, conditions }, { services }) {
      const wanted = { digest, kind, ...params, ifMatch: conditions().ifMatch ?? "" };
      await services.scim.deleteScimResource(wanted, await rpc());
      return new Answered(204, []);
    },
  });

  /** A resource with its version; the members of a group are read and sent in pages. */
  async function shown(
    status: 200 | 201,
    request: Request<{ id: string }, Shown>,
    services: Services,
    message: { json: string; location: string; version: bigint } | undefined,
  ): Promise<Answered> {
    if (!message) throw new Error("identity answered without a resource");
    const etag = weakEntityTag(message.version);
    const lines = ["ETag", etag, ...(status === 201 ? locationLine(message.location) : [])];
    if (kind === "User" || !includesMembers(request.query)) return new Answered(status, lines, json(message.json));
    const { session, params, rpc } = request;
    const pageAfter = async (after: string) =>
      services.scim.listScimMembers({ digest: session.digest, id: params.id, after }, await rpc());
    const first = await pageAfter("");
    const pieces = groupFrom(message.json, first, pageAfter);
    if (first.next !== "") return new Answered(status, lines, new Streamed(scimType, [], pieces));
    const parts: Uint8Array[] = [];
    for await (const piece of pieces) parts.push(piece);
    return new Answered(status, lines, json(Buffer.concat(parts).toString()));
  }

  return [find, get, create, replace, patch, remove];
}

/** SCIM 2.0 (RFC 7643, 7644): see docs/directory.md. */
export const scimRoutes: readonly Route[] = [
  ...describe("ServiceProviderConfig"),
  ...describe("ResourceTypes"),
  ...describe("Schemas"),
  ...resourceRoutes("User", "user"),
  ...resourceRoutes("Group", "group"),
  ...scimSearchRoutes,
];
