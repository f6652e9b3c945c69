import { Building2, KeyRound, Laptop, type LucideIcon, ScrollText, UserRound, Webhook } from "lucide-react";
import { useGet } from "../api/queries.ts";
import { type PageLink, to, toRecord } from "../parts/links.ts";
import { isAddress } from "../rules/ip-address.ts";
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
  const { search: _search, ...ofDevices } = query;
  const bySerial = useGet(
    "/api/v1/devices",
    { params: { query: { ...ofDevices, serialNumber: words } } },
    { enabled: isWanted && /\d/.test(words) && whyNot(me, "GET /api/v1/devices") === null },
  );
  const byAddress = useGet(
    "/api/v1/devices",
    { params: { query: { ...ofDevices, address: words } } },
    { enabled: isWanted && isAddress(words) && whyNot(me, "GET /api/v1/devices") === null },
  );
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
  const all = [devices, bySerial, byAddress, users, webhooks, keys, organizations, sites];
  return {
    devices: uniqueById([devices, bySerial, byAddress].flatMap(({ data }) => data?.data ?? [])),
    users: users.data?.data ?? [],
    webhooks: webhooks.data?.data ?? [],
    keys: keys.data?.data ?? [],
    organizations: organizations.data?.data ?? [],
    sites: sites.data?.data ?? [],
    isSearching: all.some(({ isLoading }) => isLoading),
  };
}

const uniqueById = <R extends { id: string }>(records: readonly R[]): R[] => [
  ...new Map(records.map((record) => [record.id, record])).values(),
];

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
  const user = useGet("/api/v1/users/{id}", params, enabled("GET /api/v1/users/{id}"));
  const key = useGet("/api/v1/api-keys/{id}", params, enabled("GET /api/v1/api-keys/{id}"));
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
    ...(user.data
      ? [{ key: id, title: user.data.name, note: "person", icon: UserRound, link: toRecord("/people/$id", path) }]
      : []),
    ...(key.data
      ? [
          {
            key: id,
            title: key.data.name,
            note: `API key ${key.data.keyPrefix}`,
            icon: KeyRound,
            link: to("/keys", { orgId: key.data.orgId, search: key.data.keyPrefix }),
          },
        ]
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
  return { found, isSearching: [device, row, webhook, organization, user, key].some(({ isLoading }) => isLoading) };
}
