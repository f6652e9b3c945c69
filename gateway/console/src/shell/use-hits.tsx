import { useNavigate } from "@tanstack/react-router";
import { CircleAlert, Clock, Laptop, type LucideIcon } from "lucide-react";
import type { ReactNode } from "react";
import type { AnyOperation } from "../operations/record-operation.ts";
import { useRun } from "../operations/runner.tsx";
import { linkTo, type PageLink, to, toRecord } from "../parts/links.ts";
import { recentDevices } from "../parts/recent-devices.ts";
import { Sentence } from "../parts/sentence.tsx";
import { useAttention } from "../parts/use-attention.ts";
import { useFilters } from "../parts/use-filters.ts";
import type { Command } from "../rules/command.ts";
import { contains } from "../rules/contains.ts";
import { firstOffered } from "../rules/first-offered.ts";
import { isId } from "../rules/ids.ts";
import { type Me, whyNot } from "../rules/why-not.ts";
import { groupNames } from "./kinds/kind.ts";
import { pagesFor } from "./navigation.tsx";
import { iconOfPage } from "./page-icons.ts";
import { isMeant, useFound } from "./use-found.ts";
import { useRecordOfId } from "./use-record-of-id.ts";

/** Something that was found, and what choosing it does. */
export type Hit = { key: string; title: string; note: ReactNode; icon: LucideIcon; tone?: "bad" | "warn"; run(): void };
type Group = { name: string; items: Hit[] };

/** Operations that are shown at most: of a command, and beside what was searched. */
const mostMeant = 12;
const mostBeside = 6;
/** Problems and devices that are shown before anything is typed. */
const mostNeeds = 3;
const mostRecent = 3;

type Go = (link: PageLink) => () => void;
type FoundRecords = ReturnType<typeof useFound>["found"];

/** The records that were found, each leading to its page or its list. */
function recordGroups(found: FoundRecords, words: string, orgId: string | undefined, go: Go): Group[] {
  const groups = new Map<string, Hit[]>(groupNames.map((name) => [name, []]));
  for (const { kind, records } of found) {
    const hits = groups.get(kind.group) ?? [];
    groups.set(kind.group, [
      ...hits,
      ...records.map(({ id, title, note, icon, link }) => ({
        key: `${kind.noun} ${id}`,
        title,
        note,
        icon,
        run: go(link),
      })),
    ]);
  }
  const devices = new Set(groups.get("Devices")?.map(({ key }) => key));
  const recent = recentHits(words, orgId, go).filter(({ key }) => !devices.has(key.replace("recent", "device")));
  groups.set("Devices", [...(groups.get("Devices") ?? []), ...recent]);
  return [...groups].map(([name, items]) => ({ name, items }));
}

/** The devices that were opened last and have these words in their names. */
const recentHits = (words: string, orgId: string | undefined, go: Go): Hit[] =>
  recentDevices()
    .filter(({ hostname }) => contains(hostname, words))
    .map(({ id, hostname }) => ({
      key: `recent ${id}`,
      title: hostname,
      note: "device, opened before",
      icon: Laptop,
      run: go(toRecord("/devices/$id", { id }, { orgId })),
    }));

/** What needs attention, the worst first, each leading to what is to be done. */
function useNeedHits(orgId: string | undefined): Hit[] {
  const { needs } = useAttention(orgId);
  const navigate = useNavigate();
  return needs.slice(0, mostNeeds).map(({ key, tone, title, sentence, link }) => ({
    key: `need ${key}`,
    title: title.replace(/\.$/, ""),
    note: <Sentence of={sentence} />,
    icon: tone === "bad" ? CircleAlert : Clock,
    tone,
    run: () => void navigate(linkTo(link)),
  }));
}

const titleOf = ({ verb, name, asksFirst }: AnyOperation) =>
  `${[verb, name].filter(Boolean).join(" ")}${asksFirst ? " …" : ""}`;

/** What can be done with the records that were found: with all of them for a command, else with the first of a kind. */
const operationsOf = (found: FoundRecords, command: Command | null): AnyOperation[] =>
  found
    .flatMap(({ records }) => (command ? records : records.slice(0, 1)).flatMap(({ operations }) => operations))
    .filter((operation) => !command || isMeant(operation, command));

/** What a text finds among the records that the user may see, the pages and the operations. */
export function useHits(me: Me, text: string): { groups: Group[]; isSearching: boolean; words: string } {
  const [{ orgId }] = useFilters();
  const navigate = useNavigate();
  const run = useRun();
  const isRecordId = isId(text);
  const { command, found, here, unbound, isSearching } = useFound(me, text, orgId, text !== "" && !isRecordId);
  const words = command ? command.rest : text;
  const byId = useRecordOfId(me, isRecordId ? text : null);
  const go: Go = (link) => () => void navigate(link as ReturnType<typeof to>);
  const hitsOf = (operations: readonly AnyOperation[]): Hit[] =>
    operations
      .filter(({ needs }) => whyNot(me, needs) === null)
      .map((operation) => ({
        key: operation.key,
        title: titleOf(operation),
        note: operation.note ?? "",
        icon: operation.icon,
        run: () => operation.start(run),
      }));
  const isCalled = (operation: AnyOperation) =>
    [operation.verb, ...(operation.alsoCalled ?? [])].some((word) => contains(`${word} ${operation.name}`, text));
  const offered = uniqueByKey(hitsOf(here.filter(isCalled)));
  const needs = useNeedHits(orgId);
  const others = hitsOf([
    ...(text ? unbound.filter(isCalled) : firstOffered(unbound)),
    ...operationsOf(found, command),
  ]);
  const operations: Group = {
    name: "Operations",
    items: uniqueByKey(others)
      .filter(({ key }) => !offered.some((each) => each.key === key))
      .slice(0, command ? mostMeant : mostBeside),
  };
  const onPage: Group = { name: "On this page", items: offered.slice(0, mostMeant) };
  const pages: Group = {
    name: "Pages",
    items: pagesFor(me)
      .filter(({ title }) => contains(title, text))
      .map(({ to: path, title, icon }) => ({
        key: path,
        title,
        note: "",
        icon: iconOfPage(path, icon),
        run: go(to(path, { orgId })),
      })),
  };
  const byItsId: Group = { name: "By its id", items: byId.found.map((hit) => ({ ...hit, run: go(hit.link) })) };
  const atFirst: Group[] = [
    { name: "Needs attention", items: needs },
    { name: "Opened before", items: recentHits("", orgId, go).slice(0, mostRecent) },
    onPage,
    operations,
    pages,
  ];
  // A command is run: what it does comes first.
  const searched: Group[] = [
    ...(command ? [onPage, operations] : []),
    byItsId,
    ...recordGroups(found, words, orgId, go),
    pages,
    ...(command ? [] : [onPage, operations]),
  ];
  const groups = (text === "" ? atFirst : searched).filter(({ items }) => items.length > 0);
  return { groups, isSearching: isSearching || byId.isSearching, words };
}

const uniqueByKey = (hits: readonly Hit[]): Hit[] => [...new Map(hits.map((hit) => [hit.key, hit])).values()];
