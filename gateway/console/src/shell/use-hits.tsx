import { useNavigate } from "@tanstack/react-router";
import { Building2, KeyRound, Laptop, type LucideIcon, MapPin, UserRound, Webhook } from "lucide-react";
import { deviceOperations } from "../operations/devices.tsx";
import { keyOperations } from "../operations/keys.tsx";
import { asksFirst, type Operation, offeredFor } from "../operations/record-operation.ts";
import { useRun } from "../operations/runner.tsx";
import { userOperations } from "../operations/users.tsx";
import { webhookOperations } from "../operations/webhooks.tsx";
import { type PageLink, to, toRecord } from "../parts/links.ts";
import { recentDevices } from "../parts/recent-devices.ts";
import { useFilters } from "../parts/use-filters.ts";
import { hostOf } from "../rules/attention.ts";
import { type Command, commandIn } from "../rules/command.ts";
import { isId } from "../rules/ids.ts";
import { systemName } from "../rules/system-name.ts";
import { type Me, whyNot } from "../rules/why-not.ts";
import { pagesFor } from "./navigation.tsx";
import { useRecordOfId, useRecords } from "./use-records.ts";

/** Something that was found, and what choosing it does. */
export type Hit = { key: string; title: string; note: string; icon: LucideIcon; run(): void };
type Group = { name: string; items: Hit[] };

const mostOperations = 6;
const allOperations = [...deviceOperations, ...userOperations, ...webhookOperations, ...keyOperations];

/** Every verb that a record may have; those of a record's state are asked of the record that was found. */
const verbs = [...new Set(allOperations.map((operation) => (operation.verb as () => string)()))];

type Records = ReturnType<typeof useRecords>;
type Go = (link: PageLink) => () => void;

/** Whether a text contains the words, ignoring case. */
const contains = (text: string, words: string) => text.toLowerCase().includes(words.toLowerCase());

/** The records that were found, each leading to its page or its list. */
function recordGroups(records: Records, words: string, orgId: string | undefined, go: Go): Group[] {
  const { devices, users, webhooks, keys, organizations, sites } = records;
  const recent = recentDevices().filter(({ hostname }) => contains(hostname, words));
  return [
    {
      name: "Devices",
      items: devices.map((device) => ({
        key: device.id,
        title: device.hostname,
        note: `${systemName(device.os)} · ${device.status}`,
        icon: Laptop,
        run: go(toRecord("/devices/$id", { id: device.id }, { orgId })),
      })),
    },
    {
      name: "Opened before",
      items: recent
        .filter(({ id }) => !devices.some((device) => device.id === id))
        .map(({ id, hostname }) => ({
          key: id,
          title: hostname,
          note: "device",
          icon: Laptop,
          run: go(toRecord("/devices/$id", { id }, { orgId })),
        })),
    },
    {
      name: "People",
      items: users.map(({ id, name, email, role }) => ({
        key: id,
        title: name,
        note: `${role} · ${email}`,
        icon: UserRound,
        run: go(toRecord("/people/$id", { id }, { orgId })),
      })),
    },
    {
      name: "Webhooks and keys",
      items: [
        ...webhooks.map(({ id, name, url }) => ({
          key: id,
          title: name,
          note: hostOf(url),
          icon: Webhook,
          run: go(toRecord("/webhooks/$id", { id }, { orgId })),
        })),
        ...keys.map(({ id, name, keyPrefix }) => ({
          key: id,
          title: name,
          note: `API key ${keyPrefix}`,
          icon: KeyRound,
          run: go(to("/keys", { orgId, search: name })),
        })),
      ],
    },
    {
      name: "Organizations and sites",
      items: [
        ...organizations.map(({ id, name }) => ({
          key: id,
          title: name,
          note: "organization: its devices",
          icon: Building2,
          run: go(to("/devices", { orgId: id })),
        })),
        ...sites.map(({ id, name }) => ({
          key: id,
          title: name,
          note: "site",
          icon: MapPin,
          run: go(toRecord("/sites/$id", { id }, { orgId })),
        })),
      ],
    },
  ];
}

/** What can be done with the records that were found: with all of them for a command, else with the first of a kind. */
function operationHits(me: Me, records: Records, command: Command | null, run: ReturnType<typeof useRun>): Hit[] {
  const hits = <R,>(operations: readonly Operation<R>[], found: readonly R[], nameOf: (record: R) => string) =>
    (command ? found : found.slice(0, 1)).flatMap((record) =>
      offeredFor(operations, record)
        .filter((operation) => !command || operation.verb(record) === command.verb)
        .filter((operation) => whyNot(me, operation.needs) === null)
        .map((operation) => ({
          key: `${operation.id} ${nameOf(record)}`,
          title: `${operation.verb(record)} ${nameOf(record)}${asksFirst(operation) ? " …" : ""}`,
          note: "",
          icon: operation.icon,
          run: () => run(operation, record),
        })),
    );
  const others = records.users.filter(({ id }) => id !== me.id);
  return [
    ...hits(deviceOperations, records.devices, ({ hostname }) => hostname),
    ...hits(userOperations, others, ({ name }) => name),
    ...hits(webhookOperations, records.webhooks, ({ name }) => name),
    ...hits(keyOperations, records.keys, ({ name }) => name),
  ].slice(0, mostOperations);
}

/** What a text finds among the records that the user may see, the pages and the operations. */
export function useHits(me: Me, text: string): { groups: Group[]; isSearching: boolean; words: string } {
  const [{ orgId }] = useFilters();
  const navigate = useNavigate();
  const run = useRun();
  const command = commandIn(text, verbs);
  const words = command?.rest || (command ? "" : text);
  const isRecordId = isId(text);
  const records = useRecords(me, words, orgId, words !== "" && !isRecordId);
  const byId = useRecordOfId(me, isRecordId ? text : null);
  const go: Go = (link) => () => void navigate(link as ReturnType<typeof to>);
  const operations: Group = { name: "Operations", items: operationHits(me, records, command, run) };
  const pages: Group = {
    name: "Pages",
    items: (command ? [] : pagesFor(me))
      .filter(({ title }) => contains(title, words))
      .map(({ to: path, title, icon }) => ({ key: path, title, note: "", icon, run: go(to(path, { orgId })) })),
  };
  const groups = [
    // A command is run: what it does comes first.
    ...(command ? [operations] : []),
    { name: "By its id", items: byId.found.map((hit) => ({ ...hit, run: go(hit.link) })) },
    ...recordGroups(records, words, orgId, go),
    pages,
    ...(command ? [] : [operations]),
  ].filter(({ items }) => items.length > 0);
  return { groups, isSearching: records.isSearching || byId.isSearching, words };
}
