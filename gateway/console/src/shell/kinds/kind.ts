import type { paths } from "@muster/client";
import type { LucideIcon } from "lucide-react";
import { type AnyOperation, type Operation, offeredFor, onRecord } from "../../operations/record-operation.ts";
import type { PageLink } from "../../parts/links.ts";
import type { Me } from "../../rules/why-not.ts";

/** Headings of the command menu, in their order. */
export const groupNames = [
  "Devices",
  "People",
  "Webhooks and keys",
  "Organizations and sites",
  "Releases",
  "Sign-in",
  "Audit",
  "Saved views",
  "Your account",
] as const;

type GroupName = (typeof groupNames)[number];

/** Records of one kind that are shown at most. */
export const most = 5;

/** Whose records are looked for, and by which words. */
export type Search = { words: string; me: Me; orgId: string | undefined; signal: AbortSignal };

/** A record that was found, and what can be done with it. */
export type Found = {
  id: string;
  title: string;
  note: string;
  icon: LucideIcon;
  link: PageLink;
  operations: readonly AnyOperation[];
};

type KindOf<R> = {
  /** What people call one of them, in lower case: "rotate key …" looks among keys alone. */
  noun: string;
  /** Heading above those that were found. */
  group: GroupName;
  icon: LucideIcon;
  /** The list of the API, whose permission decides who finds something. */
  path: keyof paths;
  /** The API has no search there: the list is read once, and searched here. */
  isWhole?: true;
  /** There is one of them: its operations are named by their verbs alone. */
  isSingle?: true;
  /** The API has the list per organization alone. */
  isOfOrganization?: true;
  list(search: Search): Promise<readonly R[]>;
  operations(): Promise<readonly Operation<R>[]>;
  shown(record: R, orgId: string | undefined): Pick<Found, "id" | "title" | "note" | "link">;
};

/** A kind of record that the command menu finds. */
export type Kind = Pick<KindOf<never>, "noun" | "group" | "icon" | "path" | "isWhole" | "isOfOrganization"> & {
  find(search: Search): Promise<readonly Found[]>;
  /** What can be done with any of them. */
  verbs(): Promise<readonly Pick<AnyOperation, "id" | "verb" | "alsoCalled">[]>;
};

/** A kind whose operations are loaded when it is first searched. */
export function kind<R>({ list, operations, shown, ...rest }: KindOf<R>): Kind {
  return {
    ...rest,
    verbs: operations,
    async find(search) {
      const [records, all] = await Promise.all([list(search), operations()]);
      return records.map((record) => {
        const found = shown(record, search.orgId);
        const named = rest.isSingle ? { name: "" } : { name: found.title, note: found.note };
        return { ...found, icon: rest.icon, operations: onRecord(offeredFor(all, record), record, named) };
      });
    },
  };
}

/** Query parameters of a list that the API searches. */
export const searched = ({ words, orgId }: Search) => ({
  search: words,
  limit: String(most),
  skipCount: "true",
  ...(orgId ? { orgId } : {}),
});

/** Query parameters of a list that is read as a whole. */
export const whole = ({ orgId }: Search) => ({ limit: "100", skipCount: "true", ...(orgId ? { orgId } : {}) });
