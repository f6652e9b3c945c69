import { parse } from "node:querystring";

const none: Readonly<Record<string, string | string[]>> = Object.freeze({});

/**
 * The query, or a form, as text values by name; a repeated name holds all its values, in order. Pairs beyond `maxPairs`
 * are left out; 0 leaves none out.
 */
export function parseQuery(query: string, maxPairs = 0): Readonly<Record<string, string | string[]>> {
  if (query === "") return none;
  return parse(query, "&", "=", { maxKeys: maxPairs }) as Record<string, string | string[]>;
}
