import { z } from "zod";
import type { Services } from "../../clients/services.ts";
import type { DirectoryClient } from "../../route/credential.ts";
import { type Route, type RouteRequest, route } from "../../route/route.ts";
import { createResource, deleteResource, patchResource, replaceResource } from "./scim-change.ts";
import { common } from "./scim-common.ts";
import { findResources, getResource } from "./scim-read.ts";
import { scimSearchRoutes } from "./scim-search.ts";
import { groupResource, type ScimResource, scimIdParams, userResource } from "./scim-shapes.ts";
import { json } from "./scim-shown.ts";

type Described = "ServiceProviderConfig" | "ResourceTypes" | "Schemas";

const description = z.looseObject({ schemas: z.array(z.string()) });

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
    params: scimIdParams,
    reply: description,
    errors: ["scim_resource_not_found"],
    handle: async ({ session, params, rpc }, { services }) => of(services, session, params.id, rpc),
  });
  return [all, one];
}

const resourceRoutes = (of: ScimResource): Route[] => [
  findResources(of),
  getResource(of),
  createResource(of),
  replaceResource(of),
  patchResource(of),
  deleteResource(of),
];

/** SCIM 2.0 (RFC 7643, 7644): see docs/directory.md. */
export const scimRoutes: readonly Route[] = [
  ...describe("ServiceProviderConfig"),
  ...describe("ResourceTypes"),
  ...describe("Schemas"),
  ...resourceRoutes(userResource),
  ...resourceRoutes(groupResource),
  ...scimSearchRoutes,
];
