import { type Database, type Query, sql } from "@muster/db";
import type { CallContext } from "@muster/kit";

/** People of whom each one is looked up; a search that finds more walks the list instead, and its total is an estimate. */
export const mostFound = 2_000;
/** Words that are looked for; each narrows the search. */
const mostWords = 8;
/** Sorts behind everything that begins with what stands before it. */
const last = String.fromCodePoint(0x10ffff);

/** Where the people stand whose words are looked at. */
export type SearchPlace = { partnerId: string | null; orgId: string | null };

/** The people of whom every word of the search begins a word: a predicate on users t, and how many there are if they are few. */
export type Found = { where: Query; isFew: boolean };

/** Looks a search up in user_words; each of its indexes serves one kind of place. */
export async function findByWords(db: Database, who: CallContext, query: string, place: SearchPlace): Promise<Found> {
  const words = [...new Set(query.trim().split(/\s+/u))].slice(0, mostWords);
  const within =
    place.orgId !== null
      ? sql`w.org_id = ${place.orgId}`
      : place.partnerId !== null
        ? sql`w.partner_id = ${place.partnerId}`
        : sql`true`;
  const lists = await db.readAll<{ id: string }[]>(who, [
    // A plan for any word would read for the commonest.
    sql`SELECT set_config('plan_cache_mode', 'force_custom_plan', true) AS id`,
    ...words.map(
      (word) =>
        sql`SELECT w.user_id AS id FROM user_words w WHERE ${within} AND ${begins(word)} LIMIT ${mostFound + 1}`,
    ),
  ]);
  const rarest = lists.slice(1).reduce((best, list) => (list.length < best.length ? list : best));
  const isFew = rarest.length <= mostFound;
  const others = words.map((word) => sql`EXISTS (SELECT FROM user_words w WHERE w.user_id = t.id AND ${begins(word)})`);
  const all = others.reduce((before, next) => sql`${before} AND ${next}`);
  const ids = [...new Set(rarest.map(({ id }) => id))];
  return { isFew, where: isFew ? sql`t.id = ANY (${ids}::uuid[]) AND ${all}` : all };
}

const begins = (word: string): Query => sql`w.word >= lower(${word}) AND w.word < lower(${word}) || ${last}`;
