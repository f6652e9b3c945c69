import { weakEntityTag } from "@muster/kit";
import type { z } from "zod";
import { Answered } from "../../route/reply.ts";
import { noBody, type RouteRequest, route } from "../../route/route.ts";
import { common } from "./scim-common.ts";
import { hasOperations, projectionOf } from "./scim-replies.ts";
import {
  answers,
  body,
  changeErrors,
  examples,
  type Kind,
  patchBody,
  resource,
  type ScimResource,
  scimBodyLimitBytes,
  scimIdParams,
  shownQuery,
  writeErrors,
} from "./scim-shapes.ts";
import { shown } from "./scim-shown.ts";

type Change = Pick<
  RouteRequest<{ auth: "directory" }, z.output<typeof scimIdParams>, z.output<typeof shownQuery>>,
  "session" | "params" | "query" | "bodyBytes" | "conditions"
>;

/** What PUT and PATCH send on: the body as it came, under the version that the client named. */
const changeOf = (kind: Kind, { session, params, query, bodyBytes, conditions }: Change) => ({
  digest: session.digest,
  kind,
  ...params,
  ifMatch: conditions().ifMatch ?? "",
  body: bodyBytes,
  projection: projectionOf(query),
});

/** A new resource. */
export const createResource = ({ kind, noun, path, audit, auditResource }: ScimResource) =>
  route({
    ...common,
    method: "POST",
    path,
    audit: audit.create,
    auditResource,
    summary: `Create a ${noun}`,
    description:
      kind === "User"
        ? "No mail is sent. An account of the tenant that has the address is taken over; a repeat is 409 `uniqueness` and changes nothing."
        : "A repeat is 409 `uniqueness` and changes nothing.",
    query: shownQuery,
    body,
    example: examples[kind],
    bodyLimitBytes: scimBodyLimitBytes,
    status: 201,
    answers: { 201: answers[201] },
    reply: resource,
    errors: writeErrors,
    async handle({ session, query, bodyBytes, rpc }, { services }) {
      const { digest } = session;
      const wanted = { digest, kind, body: bodyBytes, projection: projectionOf(query) };
      const made = await services.scim.createScimResource(wanted, await rpc());
      return shown(
        kind,
        201,
        { session, params: { id: made.resource?.id ?? "" }, query, rpc },
        services,
        made.resource,
      );
    },
  });

/** All attributes of a resource. */
export const replaceResource = ({ kind, noun, path, audit, auditResource }: ScimResource) =>
  route({
    ...common,
    method: "PUT",
    path: `${path}/:id`,
    audit: audit.update,
    auditResource,
    summary: `Replace a ${noun}`,
    params: scimIdParams,
    query: shownQuery,
    body,
    example: examples[kind],
    bodyLimitBytes: scimBodyLimitBytes,
    answers: { 200: answers[200] },
    reply: resource,
    errors: changeErrors,
    async handle({ session, params, query, bodyBytes, rpc, conditions }, { services }) {
      const wanted = changeOf(kind, { session, params, query, bodyBytes, conditions });
      const done = await services.scim.replaceScimResource(wanted, await rpc());
      return shown(kind, 200, { session, params, query, rpc }, services, done.resource);
    },
  });

/** Some attributes of a resource. */
export const patchResource = ({ kind, noun, path, audit, auditResource }: ScimResource) =>
  route({
    ...common,
    method: "PATCH",
    path: `${path}/:id`,
    audit: audit.update,
    auditResource,
    summary: `Change a ${noun}`,
    description:
      kind === "User"
        ? "`active: false` ends all sessions of the user before the reply. Without operations 204."
        : "Answers 204, or the group where `attributes` asks for some. Members that are added twice, or removed and absent, change nothing.",
    params: scimIdParams,
    query: shownQuery,
    body: patchBody,
    example: examples.patch,
    bodyLimitBytes: scimBodyLimitBytes,
    answers: { 200: answers[200], 204: answers[204] },
    reply: resource,
    errors: changeErrors,
    async handle({ session, params, query, body: sent, bodyBytes, rpc, conditions }, { services }) {
      const wanted = changeOf(kind, { session, params, query, bodyBytes, conditions });
      const { resource: changed } = await services.scim.patchScimResource(wanted, await rpc());
      const isBare = kind === "Group" ? query.attributes === undefined : !hasOperations(sent);
      const etag = weakEntityTag(changed?.version ?? 0n);
      if (isBare) return new Answered(204, ["ETag", etag]);
      return shown(kind, 200, { session, params, query, rpc }, services, changed);
    },
  });

/** Ends a resource. */
export const deleteResource = ({ kind, noun, path, audit, auditResource }: ScimResource) =>
  route({
    ...common,
    method: "DELETE",
    path: `${path}/:id`,
    audit: audit.delete,
    auditResource,
    summary: `Delete a ${noun}`,
    description: kind === "User" ? "Ends all sessions of the user before the reply; the audit trail stays." : "",
    params: scimIdParams,
    status: 204,
    reply: noBody,
    errors: ["scim_resource_not_found", "scim_version_mismatch", "last_administrator"],
    async handle({ session: { digest }, params, rpc, conditions }, { services }) {
      const wanted = { digest, kind, ...params, ifMatch: conditions().ifMatch ?? "" };
      await services.scim.deleteScimResource(wanted, await rpc());
      return new Answered(204, []);
    },
  });
