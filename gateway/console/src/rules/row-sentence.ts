import { actionWords, rowTitle } from "./action-words.ts";
import { fieldWords, reasonWords, rowInShort } from "./changed-fields.ts";

type Row = Parameters<typeof actionWords>[0] & {
  actorType: string;
  user: { name: string | null; email: string | null };
};

/** Records of which the name is found by their id. */
export const namedTypes: readonly string[] = ["device", "device_group", "site", "organization", "partner", "user"];

/** Who did what to what, as the parts of a sentence; what happened by itself stands after whose it is. */
export function rowSentence(row: Row): { who: string; did: string; name: string | null } {
  const { did, kind, name } = actionWords(row);
  const who = row.user.name ?? row.user.email ?? row.actorType;
  const isBySomebody = kind !== "" || /^(?:tried|failed|signed) /.test(did);
  if (!isBySomebody) return { who: `${who}:`, did, name };
  const what = kind.replaceAll(/\ban? /g, "");
  return { who, did: what === "" || /^\d/.test(what) ? `${did} ${what}`.trimEnd() : `${did} the ${what}`, name };
}

type TextRow = {
  action: string;
  details: Readonly<Record<string, unknown>>;
  result: "success" | "failure" | "denied";
  user: { id: string };
  resource: { id: string | null };
  errorMessage: string | null;
};

/** What a line says of a row, but for its time: lines of the same text are one. */
export const rowText = (row: TextRow): string =>
  [rowTitle(row), row.result, row.user.id, row.resource.id, rowInShort(row)].join(" ");

/** Whether a row says that its record was deleted. */
export const isDeleting = ({ action, result = "success" }: Pick<Row, "action" | "result">): boolean =>
  result === "success" && action.endsWith(".delete");

/** What a row recorded besides changes, as names and values; nothing of lists and records, which its JSON has. */
export function recordedFacts(details: Readonly<Record<string, unknown>>): [name: string, value: string][] {
  return Object.entries(details).flatMap(([name, value]): [string, string][] => {
    const isPlain = typeof value === "string" || typeof value === "number" || typeof value === "boolean";
    if (!isPlain || name === "rawActorId") return [];
    const words = fieldWords(name);
    const text = name === "reason" ? reasonWords(String(value)) : String(value);
    return [[words.charAt(0).toUpperCase() + words.slice(1), text]];
  });
}
