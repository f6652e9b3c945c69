import { useQueries, useQuery } from "@tanstack/react-query";
import { useOffersHere } from "../operations/here.ts";
import { type AnyOperation, onRecord } from "../operations/record-operation.ts";
import { afterNoun, type Command, commandIn } from "../rules/command.ts";
import { contains } from "../rules/contains.ts";
import { type Me, whyNot } from "../rules/why-not.ts";
import { kinds, unboundOperations } from "./kinds/all.ts";
import { type Found, type Kind, most } from "./kinds/kind.ts";

type Verb = Pick<AnyOperation, "id" | "verb" | "alsoCalled">;

const wordsOf = ({ verb, alsoCalled = [] }: Verb) => [verb, ...alsoCalled];

/** Whether an operation is one that a command means. */
export const isMeant = (operation: Verb, { verbs }: Command): boolean =>
  wordsOf(operation).some((word) => verbs.includes(word));

/** What can be done with records of each kind, and without a record; loaded when the menu is first opened. */
function useAllOperations() {
  const { data } = useQuery({
    queryKey: ["operations"],
    queryFn: async () => {
      const [unbound, ...verbs] = await Promise.all([unboundOperations(), ...kinds.map((kind) => kind.verbs())]);
      return { unbound, verbsOf: new Map<Kind, readonly Verb[]>(kinds.map((kind, at) => [kind, verbs[at] ?? []])) };
    },
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: Number.POSITIVE_INFINITY,
    structuralSharing: false,
  });
  return data;
}

/** The words by which a kind is searched: after a verb that it has, and after its noun. Null when it is not. */
function wordsFor(kind: Kind, text: string, command: Command | null, verbs: readonly Verb[]): string | null {
  const isCommanded = command !== null && verbs.some((verb) => isMeant(verb, command));
  const words = isCommanded ? command.rest : text;
  return afterNoun(words, kind.noun) ?? (words || null);
}

/** Lists that are searched here are read once in this time. */
const wholeFreshMs = 60_000;

/** What a text finds: records that the user may see, and operations without a record. */
export function useFound(me: Me, text: string, orgId: string | undefined, isWanted: boolean) {
  const here = useOffersHere();
  const all = useAllOperations();
  const verbs = [...here, ...(all?.unbound ?? []), ...[...(all?.verbsOf.values() ?? [])].flat()];
  const command = commandIn(text, [...new Set(verbs.flatMap(wordsOf))]);
  const searches = kinds.flatMap((kind) => {
    const words = wordsFor(kind, text, command, all?.verbsOf.get(kind) ?? []);
    const isAllowed = whyNot(me, `GET ${kind.path}`) === null;
    const hasOrganization = !kind.isOfOrganization || Boolean(me.orgId ?? orgId);
    return isWanted && all && isAllowed && hasOrganization && words !== null ? [{ kind, words }] : [];
  });
  const results = useQueries({
    queries: searches.map(({ kind, words }) => ({
      queryKey: [kind.path, "found", kind.noun, kind.isWhole ? "" : words, orgId ?? ""],
      queryFn: ({ signal }: { signal: AbortSignal }) => kind.find({ words, me, orgId, signal }),
      structuralSharing: false,
      ...(kind.isWhole ? { staleTime: wholeFreshMs } : {}),
    })),
  });
  const found = searches.map(({ kind, words }, at) => ({
    kind,
    records: matching(kind, results[at]?.data ?? [], words),
  }));
  const unbound = all ? onRecord(all.unbound, { orgId }, { name: "" }) : [];
  return { command, found, here, unbound, isSearching: !all || results.some(({ isLoading }) => isLoading) };
}

const matching = (kind: Kind, records: readonly Found[], words: string): readonly Found[] =>
  (kind.isWhole ? records.filter(({ title, note }) => contains(`${title} ${note}`, words)) : records).slice(0, most);
