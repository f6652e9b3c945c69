import type { FilterOf } from "../api/queries.ts";

type Org = "orgId";

/** The filters that each page of a list knows, by the API's names: another one does not compile in a link. */
type ListFilters = {
  "/": Org;
  "/welcome": Org;
  "/devices": FilterOf<"/api/v1/devices">;
  "/devices/add": Org;
  "/groups": FilterOf<"/api/v1/device-groups">;
  "/audit": FilterOf<"/api/v1/audit-logs/logs"> | "q";
  "/audit/reports": Org | "kind" | "from" | "to";
  "/audit/streams": Org;
  "/audit/alerts": Org;
  "/audit/exports": Org;
  "/audit/retention": Org;
  "/webhooks": FilterOf<"/api/v1/webhooks">;
  "/webhooks/event-types": Org;
  "/webhooks/portal-links": Org;
  "/keys": FilterOf<"/api/v1/api-keys">;
  "/keys/enrollment": FilterOf<"/api/v1/enrollment-keys">;
  "/keys/principals": FilterOf<"/api/v1/service-principals">;
  "/people": FilterOf<"/api/v1/users">;
  "/roles": FilterOf<"/api/v1/roles">;
  "/orgs": FilterOf<"/api/v1/orgs/organizations"> | Org;
  "/sites": FilterOf<"/api/v1/orgs/sites">;
  "/partners": FilterOf<"/api/v1/orgs/partners"> | Org;
  "/releases": FilterOf<"/api/v1/agent-versions"> | Org;
  "/releases/rollouts": FilterOf<"/api/v1/agent-versions/rollouts"> | Org;
  "/releases/templates": Org;
  "/releases/new-rollout": Org | "component" | "version" | "templateId" | "backFrom";
  "/settings/directories": FilterOf<"/api/v1/directories">;
  "/settings/sso": FilterOf<"/api/v1/sso/providers">;
  "/settings/domains": FilterOf<"/api/v1/sso/domains">;
  "/settings/sign-in": Org;
  "/settings/partner": Org;
  "/settings/branding": Org;
  "/settings/organization": Org;
  "/operations": Org;
  "/profile": Org;
  "/activate": Org;
};

/** Further filters of pages of one record, in its lists and tabs. */
type RecordFilters = {
  "/devices/bulk-jobs/$id": Org;
  "/devices/$id": Org | "tab";
  "/devices/$id/live": Org | "log" | "level";
  "/audit/$id": Org;
  "/webhooks/$id": Org;
  "/webhooks/$id/deliveries/$deliveryId": Org;
  "/people/$id": Org;
  "/roles/$id": Org;
  "/orgs/$id": Org;
  "/sites/$id": Org;
  "/partners/$id": Org;
  "/releases/rollouts/$id": Org;
  "/settings/directories/$id": Org;
  "/settings/sso/$id": Org;
};

export type ListPagePath = keyof ListFilters;
export type RecordPagePath = keyof RecordFilters;
type Search<Name extends string> = { [Each in Name]?: string | undefined };
type ParamsOf<P extends string> = P extends `${string}$id/deliveries/$deliveryId`
  ? { id: string; deliveryId: string }
  : { id: string };

/** A link to a page, for `<Link {...to(…)}>` and `navigate(to(…))`, with the filters that it is to have. */
export const to = <P extends ListPagePath>(path: P, search: Search<ListFilters[P]> = {}) => ({ to: path, search });

/** A link to the page of one record. */
export const toRecord = <P extends RecordPagePath>(
  path: P,
  params: ParamsOf<P>,
  search: Search<RecordFilters[P]> = {},
) => ({ to: path, params, search });

/** An address that the API names, for `<Link>` and `navigate`. */
export function linkTo(address: string) {
  const { pathname, searchParams } = new URL(address, location.origin);
  return { to: pathname, search: Object.fromEntries(searchParams) };
}

/** A link that was made by `to` or `toRecord`, for parts that show whatever link they get. */
export type PageLink = { to: ListPagePath | RecordPagePath; params?: Record<string, string>; search: Search<string> };
