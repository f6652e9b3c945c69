import { isTimezone, validationError } from "@muster/kit";
import type { Site } from "@muster/proto/muster/tenancy/v1/site_pb";
import { z } from "zod";
import { type Route, route } from "../../route/route.ts";
import { deviceCountsField, deviceCountsOf, ownerView, ownerViewOf } from "../fields/device-counts.ts";
import { jsonText, maskOf } from "../fields/field-mask.ts";
import {
  exampleId,
  id,
  idOut,
  idParams,
  listQuery,
  nameIn,
  objectIn,
  objectOf,
  objectOut,
  objectsBodyLimitBytes,
  only,
  pageOf,
  pagination,
  paginationOf,
  searchIn,
  success,
  timeOf,
  timeOut,
} from "../fields/schemas.ts";

const tag = "Sites";
const read = { auth: "session", permission: "organizations:read", keyScopes: ["sites:read"] } as const;
const write = { auth: "session", permission: "organizations:write", keyScopes: ["sites:write"] } as const;

const site = z
  .object({
    id: idOut,
    orgId: idOut,
    name: z.string(),
    address: objectOut,
    timezone: z.string(),
    contact: objectOut,
    settings: objectOut,
    labels: z.record(z.string(), z.string()),
    createdAt: timeOut,
    updatedAt: timeOut,
    deviceCounts: deviceCountsField,
  })
  .meta({ id: "Site" });

const timezone = z
  .string()
  .min(1)
  .max(50)
  .refine(isTimezone, "An IANA timezone identifier")
  .meta({ description: "Identifier of a timezone in the IANA database.", example: "Europe/Berlin" });

const newSite = z.object({
  orgId: id,
  name: nameIn,
  timezone: timezone.optional().meta({ default: "UTC" }),
  address: objectIn.nullish(),
  contact: objectIn.nullish(),
  settings: objectIn.optional(),
});

const patch = z.object({
  name: nameIn.optional(),
  timezone: timezone.optional(),
  address: objectIn.nullish(),
  contact: objectIn.nullish(),
  settings: objectIn
    .optional()
    .meta({ description: "Merged: keys in the request replace stored ones, null removes a key." }),
});

const paths = {
  name: "name",
  timezone: "timezone",
  address: "address_json",
  contact: "contact_json",
  settings: "settings_json",
};

function messageOf(body: Omit<z.output<typeof patch>, "settings"> & { settings?: Record<string, unknown> | null }) {
  return {
    name: body.name ?? "",
    timezone: body.timezone ?? "",
    addressJson: jsonText(body.address),
    contactJson: jsonText(body.contact),
    settingsJson: jsonText(body.settings),
  };
}

const list = route({
  method: "GET",
  path: "/orgs/sites",
  access: read,
  tag,
  summary: "List sites by name unless sorted",
  description: "Without a filter the sites of all accessible organizations.",
  query: listQuery.extend({
    ...ownerView,
    orgId: id.optional().meta({ description: only.organization }),
    organizationId: id.optional().meta({ description: "Alias of `orgId`." }),
    search: searchIn,
  }),
  reply: z.object({ data: z.array(site), pagination }),
  errors: ["organization_access_denied", "organization_not_found"],
  async handle({ query, rpc }, { services }) {
    if (query.orgId && query.organizationId && query.orgId !== query.organizationId) {
      throw validationError({ organizationId: ["Differs from orgId"] });
    }
    const wanted = {
      page: pageOf(query),
      orgId: query.orgId ?? query.organizationId ?? "",
      search: query.search ?? "",
      ...ownerViewOf(query),
    };
    const reply = await services.sites.listSites(wanted, await rpc());
    return { data: reply.sites.map(siteOf), pagination: paginationOf(reply.page) };
  },
});

const create = route({
  method: "POST",
  path: "/orgs/sites",
  audit: "site.create",
  access: write,
  tag,
  summary: "Create a site",
  body: newSite,
  example: { orgId: exampleId, name: "Berlin", timezone: "Europe/Berlin" },
  bodyLimitBytes: objectsBodyLimitBytes,
  status: 201,
  idempotent: true,
  reply: site,
  errors: ["organization_access_denied", "organization_not_found", "site_restricted"],
  async handle({ body, rpc }, { services }) {
    const reply = await services.sites.createSite({ ...messageOf(body), orgId: body.orgId }, await rpc());
    return siteOf(reply.site);
  },
});

const get = route({
  method: "GET",
  path: "/orgs/sites/:id",
  access: read,
  tag,
  summary: "One site",
  params: idParams,
  reply: site,
  errors: ["site_not_found", "site_access_denied"],
  async handle({ params, rpc }, { services }) {
    const reply = await services.sites.getSite({ id: params.id }, await rpc());
    return siteOf(reply.site);
  },
});

const update = route({
  method: "PATCH",
  path: "/orgs/sites/:id",
  audit: "site.update",
  access: write,
  tag,
  summary: "Change a site",
  params: idParams,
  body: patch,
  example: { name: "Berlin" },
  bodyLimitBytes: objectsBodyLimitBytes,
  reply: site,
  errors: ["no_updates", "site_not_found", "site_access_denied"],
  async handle({ params, body, rpc }, { services }) {
    const wanted = { id: params.id, updateMask: maskOf(body, paths), site: messageOf(body) };
    const reply = await services.sites.updateSite(wanted, await rpc());
    return siteOf(reply.site);
  },
});

const updateLabels = route({
  method: "PATCH",
  path: "/orgs/sites/:id/labels",
  audit: "site.update",
  access: write,
  tag,
  summary: "Change a site's labels",
  description:
    "Merged: labels in the request overwrite stored ones, null removes a label, all others stay. At most 32.",
  params: idParams,
  body: z.object({ labels: z.record(z.string().min(1).max(63), z.string().max(255).nullable()) }),
  example: { labels: { region: "eu", retired: null } },
  reply: site,
  errors: ["site_not_found", "site_access_denied"],
  async handle({ params, body, rpc }, { services }) {
    const labels = Object.entries(body.labels);
    const wanted = {
      id: params.id,
      labels: Object.fromEntries(labels.filter((label): label is [string, string] => label[1] !== null)),
      remove: labels.filter(([, value]) => value === null).map(([name]) => name),
    };
    const reply = await services.sites.updateSiteLabels(wanted, await rpc());
    return siteOf(reply.site);
  },
});

const remove = route({
  method: "DELETE",
  path: "/orgs/sites/:id",
  audit: "site.delete",
  access: write,
  tag,
  summary: "Delete a site permanently",
  params: idParams,
  reply: success,
  errors: ["site_not_found", "site_access_denied", "site_restricted"],
  async handle({ params, rpc }, { services }) {
    await services.sites.deleteSite({ id: params.id }, await rpc());
    return { success: true as const };
  },
});

function siteOf(message: Site | undefined): z.input<typeof site> {
  if (!message) throw new Error("tenancy answered without a site");
  return {
    id: message.id,
    orgId: message.orgId,
    name: message.name,
    address: objectOf(message.addressJson),
    timezone: message.timezone,
    contact: objectOf(message.contactJson),
    settings: objectOf(message.settingsJson),
    labels: message.labels,
    createdAt: timeOf(message.createdAt),
    updatedAt: timeOf(message.updatedAt),
    ...deviceCountsOf(message.deviceCounts),
  };
}

export const siteRoutes: readonly Route[] = [list, create, get, update, updateLabels, remove];
