import { parse } from "node:querystring";

/** Names a query may hold; more are cut off by the parser. */
const maxParameters = 100;
const none: Readonly<Record<string, string | string[]>> = Object.freeze({});

/** The query as text values by name; a repeated name holds all its values, in order. */
export function parseQuery(query: string): Readonly<Record<string, string | string[]>> {
  if (query === "") return none;
  return parse(query, "&", "=", { maxKeys: maxParameters }) as Record<string, string | string[]>;
}
