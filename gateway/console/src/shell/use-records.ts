import { Building2, Laptop, type LucideIcon, ScrollText, Webhook } from "lucide-react";
import { useGet } from "../api/queries.ts";
import { type PageLink, toRecord } from "../parts/links.ts";
import { type Me, whyNot } from "../rules/why-not.ts";

/** Records of one kind that are shown at most. */
const most = 5;

type Found = { key: string; title: string; note: string; icon: LucideIcon; link: PageLink };

/** The records whose names contain the words. */
export function useRecords(me: Me, words: string, orgId: string | undefined, isWanted: boolean) {
  const query = { search: words, limit: String(most), skipCount: "true", ...(orgId ? { orgId } : {}) };
  const enabled = (operation: string) => ({ enabled: isWanted && whyNot(me, operation) === null });
  const ofTenants = { search: words, limit: String(most), skipCount: "true" };
  const hooksOf = me.orgId ?? orgId;
  const devices = useGet("/api/v1/devices", { params: { query } }, enabled("GET /api/v1/devices"));
  const users = useGet("/api/v1/users", { params: { query } }, enabled("GET /api/v1/users"));
  const webhooks = useGet(
    hooksOf ? "/api/v1/webhooks" : "/api/v1/webhooks/all",
    { params: { query: { ...ofTenants, ...(hooksOf ? { orgId: hooksOf } : {}) } } },
    enabled("GET /api/v1/webhooks"),
  );
  const keys = useGet("/api/v1/api-keys", { params: { query } }, enabled("GET /api/v1/api-keys"));
  const organizations = useGet(
    "/api/v1/orgs/organizations",
    { params: { query: ofTenants } },
    { enabled: isWanted && me.scope !== "organization" && whyNot(me, "GET /api/v1/orgs/organizations") === null },
  );
  const sites = useGet("/api/v1/orgs/sites", { params: { query } }, enabled("GET /api/v1/orgs/sites"));
  const all = [devices, users, webhooks, keys, organizations, sites];
  return {
    devices: devices.data?.data ?? [],
    users: users.data?.data ?? [],
    webhooks: webhooks.data?.data ?? [],
    keys: keys.data?.data ?? [],
    organizations: organizations.data?.data ?? [],
    sites: sites.data?.data ?? [],
    isSearching: all.some(({ isLoading }) => isLoading),
  };
}

/** The record with an id that was pasted, of the kinds that the user may see. */
export function useRecordOfId(me: Me, id: string | null): { found: Found[]; isSearching: boolean } {
  const params = { params: { path: { id: id ?? "" } } };
  const enabled = (operation: string) => ({ enabled: id !== null && whyNot(me, operation) === null });
  const device = useGet("/api/v1/devices/{id}", params, enabled("GET /api/v1/devices/{id}"));
  const row = useGet("/api/v1/audit-logs/logs/{id}", params, enabled("GET /api/v1/audit-logs/logs/{id}"));
  const webhook = useGet("/api/v1/webhooks/{id}", params, enabled("GET /api/v1/webhooks/{id}"));
  const organization = useGet(
    "/api/v1/orgs/organizations/{id}",
    params,
    enabled("GET /api/v1/orgs/organizations/{id}"),
  );
  if (id === null) return { found: [], isSearching: false };
  const path = { id };
  const found = [
    ...(device.data
      ? [{ key: id, title: device.data.hostname, note: "device", icon: Laptop, link: toRecord("/devices/$id", path) }]
      : []),
    ...(row.data
      ? [{ key: id, title: row.data.action, note: "audit row", icon: ScrollText, link: toRecord("/audit/$id", path) }]
      : []),
    ...(webhook.data
      ? [{ key: id, title: webhook.data.name, note: "webhook", icon: Webhook, link: toRecord("/webhooks/$id", path) }]
      : []),
    ...(organization.data
      ? [
          {
            key: id,
            title: organization.data.name,
            note: "organization",
            icon: Building2,
            link: toRecord("/orgs/$id", path),
          },
        ]
      : []),
  ];
  return { found, isSearching: [device, row, webhook, organization].some(({ isLoading }) => isLoading) };
}
