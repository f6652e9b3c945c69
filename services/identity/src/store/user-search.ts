import { type Database, type Query, sql } from "@muster/db";
import type { CallContext } from "@muster/kit";

/** Most matches that are looked up by id; a search with more walks the list instead, and its total is an estimate. */
export const mostFound = 2_000;
/** Words that are looked for; each narrows the search. */
const mostWords = 8;
/** Sorts behind every continuation of the prefix before it. */
const last = String.fromCodePoint(0x10ffff);

/** The tenant to search in: its organization, else its partner, else all. */
export type SearchTenant = { partnerId: string | null; orgId: string | null };

/** A predicate on users t. */
export type Found =
  /** The users that were found: their number can be counted. */
  | { isFew: true; where: Query }
  /** Too many matches: `walk` tests each user of the list for the words, `lookUp` looks up all matches. */
  | { isFew: false; walk: Query; lookUp: Query };

/**
 * Looks up the users for whom every word of the search begins one of their words; each index of user_words serves one
 * kind of tenant.
 */
export async function findByWords(db: Database, who: CallContext, query: string, tenant: SearchTenant): Promise<Found> {
  const words = [...new Set(query.trim().split(/\s+/u))].slice(0, mostWords);
  const within =
    tenant.orgId !== null
      ? sql`w.org_id = ${tenant.orgId}`
      : tenant.partnerId !== null
        ? sql`w.partner_id = ${tenant.partnerId}`
        : sql`true`;
  const holders = (word: string) => sql`SELECT w.user_id AS id FROM user_words w WHERE ${within} AND ${begins(word)}`;
  const [, ...lists] = await db.readAll<{ id: string }[]>(who, [
    // A plan for any word would read for the commonest.
    sql`SELECT set_config('plan_cache_mode', 'force_custom_plan', true) AS id`,
    ...words.map((word) => sql`${holders(word)} LIMIT ${mostFound + 1}`),
  ]);
  const found = words.map((word, i) => ({ word, ids: (lists[i] ?? []).map(({ id }) => id) }));
  const [rarest, ...others] = found.sort((a, b) => a.ids.length - b.ids.length) as [Holders, ...Holders[]];
  // A limit keeps the planner from joining all holders of a word before it looks at the list's order.
  const has = ({ word }: Holders) =>
    sql`(SELECT true FROM user_words w WHERE w.user_id = t.id AND ${begins(word)} LIMIT 1)`;
  if (rarest.ids.length <= mostFound) {
    const ids = [...new Set(rarest.ids)];
    return { isFew: true, where: together(sql`t.id = ANY (${ids}::uuid[])`, others.map(has)) };
  }
  return {
    isFew: false,
    walk: together(has(rarest), others.map(has)),
    lookUp: together(
      sql`t.id IN (${holders(rarest.word)})`,
      others.map(({ word }) => sql`t.id IN (${holders(word)})`),
    ),
  };
}

type Holders = { word: string; ids: string[] };

const together = (first: Query, rest: readonly Query[]) => rest.reduce((all, next) => sql`${all} AND ${next}`, first);

const begins = (word: string): Query => sql`w.word >= lower(${word}) AND w.word < lower(${word}) || ${last}`;
