import {
  Globe,
  KeyRound,
  LogIn,
  Rss,
  Siren,
  SquareArrowDown,
  Ticket,
  UserRound,
  UsersRound,
  Workflow,
} from "lucide-react";
import { read } from "../../api/queries.ts";
import { to, toRecord } from "../../parts/links.ts";
import { filterText } from "../../rules/filter-text.ts";
import { type Kind, kind, searched, whole } from "./kind.ts";

/** People and programs, what they may do, and the trail of what they did. */
export const trustKinds: readonly Kind[] = [
  kind({
    noun: "person",
    group: "People",
    icon: UserRound,
    path: "/api/v1/users",
    list: async (search) => {
      const { data } = await read("/api/v1/users", { params: { query: searched(search) } }, search.signal);
      // One's own account is changed in the profile.
      return data.filter(({ id }) => id !== search.me.id);
    },
    operations: async () => (await import("../../operations/users.tsx")).userOperations,
    shown: ({ id, name, email, role }, orgId) => ({
      id,
      title: name,
      note: `${role} · ${email}`,
      link: toRecord("/people/$id", { id }, { orgId }),
    }),
  }),
  kind({
    noun: "role",
    group: "People",
    icon: UsersRound,
    path: "/api/v1/roles",
    isWhole: true,
    list: async (search) => {
      const query = { limit: "100", skipCount: "true" };
      return (await read("/api/v1/roles", { params: { query } }, search.signal)).data;
    },
    operations: async () => (await import("../../operations/roles.tsx")).roleOperations,
    shown: ({ id, name }, orgId) => ({
      id,
      title: name,
      note: "role",
      link: toRecord("/roles/$id", { id }, { orgId }),
    }),
  }),
  kind({
    noun: "key",
    group: "Webhooks and keys",
    icon: KeyRound,
    path: "/api/v1/api-keys",
    list: async (search) =>
      (await read("/api/v1/api-keys", { params: { query: searched(search) } }, search.signal)).data,
    operations: async () => (await import("../../operations/keys.tsx")).keyOperations,
    shown: ({ id, name, keyPrefix }, orgId) => ({
      id,
      title: name,
      note: `API key ${keyPrefix}`,
      link: to("/keys", { orgId, search: name }),
    }),
  }),
  kind({
    noun: "principal",
    group: "Webhooks and keys",
    icon: Workflow,
    path: "/api/v1/service-principals",
    list: async (search) =>
      (await read("/api/v1/service-principals", { params: { query: searched(search) } }, search.signal)).data,
    operations: async () => (await import("../../operations/principals.tsx")).principalOperations,
    shown: ({ id, name }, orgId) => ({
      id,
      title: name,
      note: "service principal",
      link: to("/keys/principals", { orgId, search: name }),
    }),
  }),
  kind({
    noun: "enrollment key",
    group: "Webhooks and keys",
    icon: Ticket,
    path: "/api/v1/enrollment-keys",
    isWhole: true,
    list: async (search) =>
      (await read("/api/v1/enrollment-keys", { params: { query: whole(search) } }, search.signal)).data,
    operations: async () => (await import("../../operations/enrollment-keys.tsx")).enrollmentKeyOperations,
    shown: ({ id, name }, orgId) => ({
      id,
      title: name,
      note: "enrollment key",
      link: to("/keys/enrollment", { orgId }),
    }),
  }),
  kind({
    noun: "provider",
    group: "Sign-in",
    icon: LogIn,
    path: "/api/v1/sso/providers",
    isWhole: true,
    list: async (search) =>
      (await read("/api/v1/sso/providers", { params: { query: whole(search) } }, search.signal)).data,
    operations: async () => (await import("../../operations/providers.tsx")).providerOperations,
    shown: ({ id, name, status }, orgId) => ({
      id,
      title: name,
      note: `identity provider, ${status}`,
      link: toRecord("/settings/sso/$id", { id }, { orgId }),
    }),
  }),
  kind({
    noun: "domain",
    group: "Sign-in",
    icon: Globe,
    path: "/api/v1/sso/domains",
    isWhole: true,
    list: async (search) =>
      (await read("/api/v1/sso/domains", { params: { query: whole(search) } }, search.signal)).data,
    operations: async () => (await import("../../operations/domains.tsx")).domainOperations,
    shown: ({ id, domain }, orgId) => ({
      id,
      title: domain,
      note: "domain",
      link: to("/settings/domains", { orgId }),
    }),
  }),
  kind({
    noun: "alert",
    group: "Audit",
    icon: Siren,
    path: "/api/v1/audit-logs/alerts",
    isWhole: true,
    list: async (search) =>
      (await read("/api/v1/audit-logs/alerts", { params: { query: whole(search) } }, search.signal)).data,
    operations: async () => (await import("../../operations/alerts.tsx")).alertOperations,
    shown: ({ id, name, status }, orgId) => ({
      id,
      title: name,
      note: `alert, ${status}`,
      link: to("/audit/alerts", { orgId }),
    }),
  }),
  kind({
    noun: "stream",
    group: "Audit",
    icon: Rss,
    path: "/api/v1/audit-logs/streams",
    isWhole: true,
    isOfOrganization: true,
    list: async (search) =>
      (await read("/api/v1/audit-logs/streams", { params: { query: whole(search) } }, search.signal)).data,
    operations: async () => (await import("../../operations/streams.tsx")).streamOperations,
    shown: ({ id, name, type }, orgId) => ({
      id,
      title: name,
      note: `stream, ${type}`,
      link: to("/audit/streams", { orgId }),
    }),
  }),
  kind({
    noun: "export",
    group: "Audit",
    icon: SquareArrowDown,
    path: "/api/v1/audit-logs/exports",
    isWhole: true,
    list: async (search) =>
      (await read("/api/v1/audit-logs/exports", { params: { query: whole(search) } }, search.signal)).data,
    operations: async () => (await import("../../operations/exports.tsx")).exportOperations,
    shown: ({ id, filter, status }, orgId) => ({
      id,
      title: filterText(filter),
      note: `export, ${status}`,
      link: to("/audit/exports", { orgId }),
    }),
  }),
];
