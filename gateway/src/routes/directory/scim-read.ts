import { weakEntityTag } from "@muster/kit";
import { Answered } from "../../route/reply.ts";
import { route } from "../../route/route.ts";
import { common, list } from "./scim-common.ts";
import { listText, projectionOf } from "./scim-replies.ts";
import {
  answers,
  readErrors,
  resource,
  type ScimResource,
  scimIdParams,
  scimListQuery,
  shownQuery,
} from "./scim-shapes.ts";
import { json, shown } from "./scim-shown.ts";

/** List or find. */
export const findResources = ({ kind, noun, path }: ScimResource) =>
  route({
    ...common,
    method: "GET",
    path,
    summary: `List or find ${noun}s`,
    query: scimListQuery,
    reply: list,
    errors: ["scim_invalid"],
    async handle({ session: { digest }, query, rpc }, { services }) {
      const { filter = "", sortBy = "", sortOrder = "", startIndex = "", count = "" } = query;
      const wanted = { digest, kind, filter, sortBy, sortOrder, startIndex, count, projection: projectionOf(query) };
      return json(listText(await services.scim.listScimResources(wanted, await rpc())));
    },
  });

/** One resource, or 304. */
export const getResource = ({ kind, noun, path }: ScimResource) =>
  route({
    ...common,
    method: "GET",
    path: `${path}/:id`,
    summary: `One ${noun}`,
    params: scimIdParams,
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
      return shown(kind, 200, { session, params, query, rpc }, services, found.resource);
    },
  });
