import { Building2, KeyRound, Laptop, type LucideIcon, ScrollText, UserRound, Webhook } from "lucide-react";
import { useGet } from "../api/queries.ts";
import { type PageLink, to, toRecord } from "../parts/links.ts";
import { type Me, whyNot } from "../rules/why-not.ts";

type Found = { key: string; title: string; note: string; icon: LucideIcon; link: PageLink };

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
