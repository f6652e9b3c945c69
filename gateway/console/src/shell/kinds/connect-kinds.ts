import { ArchiveX, Bookmark, FolderSync, Link2, Shapes, Webhook } from "lucide-react";
import { read } from "../../api/queries.ts";
import { to, toRecord } from "../../parts/links.ts";
import { pageOfList } from "../../parts/sections.ts";
import { hostOf } from "../../rules/attention.ts";
import { filtersOf } from "../../rules/viewed-lists.ts";
import { type Kind, kind, searched, whole } from "./kind.ts";

/** What other systems get from here, and what they say here. */
export const connectKinds: readonly Kind[] = [
  kind({
    noun: "webhook",
    group: "Webhooks and keys",
    icon: Webhook,
    path: "/api/v1/webhooks",
    list: async (search) => {
      const path = search.me.orgId || search.orgId ? "/api/v1/webhooks" : "/api/v1/webhooks/all";
      return (await read(path, { params: { query: searched(search) } }, search.signal)).data;
    },
    operations: async () => (await import("../../operations/webhooks.tsx")).webhookOperations,
    shown: ({ id, name, url }, orgId) => ({
      id,
      title: name,
      note: hostOf(url),
      link: toRecord("/webhooks/$id", { id }, { orgId }),
    }),
  }),
  kind({
    noun: "event type",
    group: "Webhooks and keys",
    icon: Shapes,
    path: "/api/v1/webhooks/event-types",
    isWhole: true,
    isOfOrganization: true,
    list: async ({ me, orgId, signal }) => {
      const query = { source: "custom", orgId: me.orgId ?? orgId ?? "" };
      return (await read("/api/v1/webhooks/event-types", { params: { query } }, signal)).data;
    },
    operations: async () => (await import("../../operations/event-types.tsx")).eventTypeOperations,
    shown: ({ type }, orgId) => ({
      id: type,
      title: type,
      note: "own event type",
      link: to("/webhooks/event-types", { orgId }),
    }),
  }),
  kind({
    noun: "portal link",
    group: "Webhooks and keys",
    icon: Link2,
    path: "/api/v1/webhooks/portal-links",
    isWhole: true,
    list: async (search) =>
      (await read("/api/v1/webhooks/portal-links", { params: { query: whole(search) } }, search.signal)).data,
    operations: async () => (await import("../../operations/portal-links.tsx")).portalLinkOperations,
    shown: ({ id, name }, orgId) => ({
      id,
      title: name,
      note: "link to the portal",
      link: to("/webhooks/portal-links", { orgId }),
    }),
  }),
  kind({
    noun: "view",
    group: "Saved views",
    icon: Bookmark,
    path: "/api/v1/saved-views",
    isWhole: true,
    list: async ({ signal }) => {
      const query = { limit: "100", skipCount: "true" };
      const { data } = await read("/api/v1/saved-views", { params: { query } }, signal);
      return data;
    },
    operations: async () => (await import("../../operations/saved-views.tsx")).viewOperations,
    shown: ({ id, name, resource, query }) => ({
      id,
      title: name,
      note: `view of ${pageOfList(resource).title.toLowerCase()}`,
      link: { to: pageOfList(resource).to, search: filtersOf(query, []) },
    }),
  }),
  kind({
    noun: "dead letter",
    group: "Webhooks and keys",
    icon: ArchiveX,
    path: "/api/v1/webhooks/dead-letters",
    isWhole: true,
    list: async (search) =>
      (await read("/api/v1/webhooks/dead-letters", { params: { query: whole(search) } }, search.signal)).data,
    operations: async () => (await import("../../operations/deliveries.tsx")).deadLetterOperations,
    shown: ({ id, event, webhookId, deliveryId }) => ({
      id,
      title: event,
      note: "dead letter",
      link: toRecord("/webhooks/$id/deliveries/$deliveryId", { id: webhookId, deliveryId }),
    }),
  }),
  kind({
    noun: "directory",
    group: "Sign-in",
    icon: FolderSync,
    path: "/api/v1/directories",
    isWhole: true,
    list: async (search) =>
      (await read("/api/v1/directories", { params: { query: whole(search) } }, search.signal)).data,
    operations: async () => (await import("../../operations/directories.tsx")).directoryOperations,
    shown: ({ id, name, status }, orgId) => ({
      id,
      title: name,
      note: `directory, ${status}`,
      link: toRecord("/settings/directories/$id", { id }, { orgId }),
    }),
  }),
];
