import { Boxes, Building2, Handshake, Laptop, ListChecks, MapPin, PackageCheck, Rocket, Waves } from "lucide-react";
import { read } from "../../api/queries.ts";
import { to, toRecord } from "../../parts/links.ts";
import { isAddress } from "../../rules/ip-address.ts";
import { systemName } from "../../rules/system-name.ts";
import { type Kind, kind, most, type Search, searched, whole } from "./kind.ts";

/** Devices by name, serial number and address. */
async function devices(search: Search) {
  const { words, signal } = search;
  const query = searched(search);
  const { search: _search, ...others } = query;
  const replies = await Promise.all([
    read("/api/v1/devices", { params: { query } }, signal),
    ...(/\d/.test(words)
      ? [read("/api/v1/devices", { params: { query: { ...others, serialNumber: words } } }, signal)]
      : []),
    ...(isAddress(words)
      ? [read("/api/v1/devices", { params: { query: { ...others, address: words } } }, signal)]
      : []),
  ]);
  const found = replies.flatMap(({ data }) => data);
  return [...new Map(found.map((device) => [device.id, device])).values()].slice(0, most);
}

/** Devices, where they are, and the versions that they run. */
export const fleetKinds: readonly Kind[] = [
  kind({
    noun: "device",
    group: "Devices",
    icon: Laptop,
    path: "/api/v1/devices",
    list: devices,
    operations: async () => (await import("../../operations/devices.tsx")).deviceOperations,
    shown: ({ id, hostname, os, status }, orgId) => ({
      id,
      title: hostname,
      note: `${systemName(os)} · ${status}`,
      link: toRecord("/devices/$id", { id }, { orgId }),
    }),
  }),
  kind({
    noun: "organization",
    group: "Organizations and sites",
    icon: Building2,
    path: "/api/v1/orgs/organizations",
    list: async ({ words, signal }) => {
      const query = { search: words, limit: String(most), skipCount: "true" };
      return (await read("/api/v1/orgs/organizations", { params: { query } }, signal)).data;
    },
    operations: async () => (await import("../../operations/organizations.tsx")).organizationOperations,
    shown: ({ id, name }) => ({
      id,
      title: name,
      note: "organization: its devices",
      link: to("/devices", { orgId: id }),
    }),
  }),
  kind({
    noun: "site",
    group: "Organizations and sites",
    icon: MapPin,
    path: "/api/v1/orgs/sites",
    list: async (search) =>
      (await read("/api/v1/orgs/sites", { params: { query: searched(search) } }, search.signal)).data,
    operations: async () => (await import("../../operations/sites.tsx")).siteOperations,
    shown: ({ id, name }, orgId) => ({
      id,
      title: name,
      note: "site",
      link: toRecord("/sites/$id", { id }, { orgId }),
    }),
  }),
  kind({
    noun: "partner",
    group: "Organizations and sites",
    icon: Handshake,
    path: "/api/v1/orgs/partners",
    list: async ({ words, signal }) => {
      const query = { search: words, limit: String(most), skipCount: "true" };
      return (await read("/api/v1/orgs/partners", { params: { query } }, signal)).data;
    },
    operations: async () => (await import("../../operations/partners.tsx")).partnerOperations,
    shown: ({ id, name }) => ({ id, title: name, note: "partner", link: toRecord("/partners/$id", { id }) }),
  }),
  kind({
    noun: "group",
    group: "Organizations and sites",
    icon: Boxes,
    path: "/api/v1/device-groups",
    list: async (search) =>
      (await read("/api/v1/device-groups", { params: { query: searched(search) } }, search.signal)).data,
    operations: async () => (await import("../../operations/device-groups.tsx")).groupOperations,
    shown: ({ id, name, orgId }) => ({
      id,
      title: name,
      note: "device group: its devices",
      link: to("/devices", { orgId, groupId: id }),
    }),
  }),
  kind({
    noun: "job",
    group: "Devices",
    icon: ListChecks,
    path: "/api/v1/devices/bulk-jobs",
    isWhole: true,
    list: async (search) =>
      (await read("/api/v1/devices/bulk-jobs", { params: { query: whole(search) } }, search.signal)).data,
    operations: async () => (await import("../../operations/bulk-jobs.tsx")).bulkJobOperations,
    shown: ({ id, action, total, status }, orgId) => ({
      id,
      title: `${action} ${total.toLocaleString()} devices`,
      note: `job, ${status}`,
      link: toRecord("/devices/bulk-jobs/$id", { id }, { orgId }),
    }),
  }),
  kind({
    noun: "release",
    group: "Releases",
    icon: PackageCheck,
    path: "/api/v1/agent-versions",
    isWhole: true,
    list: async ({ signal }) => {
      const query = { limit: "100", skipCount: "true" };
      return (await read("/api/v1/agent-versions", { params: { query } }, signal)).data;
    },
    operations: async () => (await import("../../operations/releases.tsx")).releaseOperations,
    shown: ({ id, component, version, promoted }) => ({
      id,
      title: `${component} ${version}`,
      note: promoted ? "release, promoted" : "release",
      link: to("/releases", { component }),
    }),
  }),
  kind({
    noun: "rollout",
    group: "Releases",
    icon: Rocket,
    path: "/api/v1/agent-versions/rollouts",
    isWhole: true,
    list: async ({ signal }) => {
      const query = { limit: "100", skipCount: "true" };
      return (await read("/api/v1/agent-versions/rollouts", { params: { query } }, signal)).data;
    },
    operations: async () => (await import("../../operations/rollouts.tsx")).rolloutOperations,
    shown: ({ id, component, version, state, kind: how }, orgId) => ({
      id,
      title: `${component} ${version}`,
      note: `${how === "staged" ? "rollout" : "guard"}, ${state}`,
      link: toRecord("/releases/rollouts/$id", { id }, { orgId }),
    }),
  }),
  kind({
    noun: "template",
    group: "Releases",
    icon: Waves,
    path: "/api/v1/agent-versions/rollout-templates",
    isWhole: true,
    list: async ({ signal }) => {
      const query = { limit: "100", skipCount: "true" };
      return (await read("/api/v1/agent-versions/rollout-templates", { params: { query } }, signal)).data;
    },
    operations: async () => (await import("../../operations/rollout-templates.tsx")).templateOperations,
    shown: ({ id, name }) => ({
      id,
      title: name,
      note: "template of rollouts",
      link: to("/releases/new-rollout", { templateId: id }),
    }),
  }),
];
