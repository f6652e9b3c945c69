import { type ScimType, scimInvalid, shown } from "./errors.ts";

export type CompareOperator = "eq" | "ne" | "co" | "sw" | "ew" | "gt" | "lt" | "ge" | "le";

/** An attribute as a client writes it: in lower case, without its schema's URN, which stands apart. */
export type AttributePath = { urn: string | null; name: string; sub: string | null };

export type FilterValue = string | number | boolean | null;

/** A filter (RFC 7644, section 3.4.2.2). */
export type Filter =
  | { kind: "and" | "or"; of: Filter[] }
  | { kind: "not"; of: Filter }
  | { kind: "compare"; path: AttributePath; operator: CompareOperator; value: FilterValue }
  | { kind: "present"; path: AttributePath }
  /** Values of a list attribute that match `of` on their own. */
  | { kind: "values"; path: AttributePath; of: Filter };

/** Where a PATCH operation applies (RFC 7644, section 3.5.2). */
export type PatchPath = { urn: string | null; name: string | null; sub: string | null; filter: Filter | null };

/** Characters of a filter or a path. */
export const filterMax = 8_192;
/** Nesting, and comparisons, of a filter. */
const depthMax = 20;
const termsMax = 200;

const operators: readonly string[] = ["eq", "ne", "co", "sw", "ew", "gt", "lt", "ge", "le"];
/** One token: a JSON string, a number, a word, or punctuation. Sticky, and without nested repetition: linear. */
const token =
  /\s*(?:("(?:[^"\\]|\\.)*")|(-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?(?![\w.:-]))|([A-Za-z$_][\w.:$-]*)|([()[\]]))/y;

type Token = { text: string; at: number };

/** A filter by its text. Throws `scim_invalid` (`invalidFilter`) with what is wrong and where. */
export function parseFilter(text: string): Filter {
  const parser = new FilterParser(text, "invalidFilter");
  const filter = parser.filter(0);
  parser.end();
  return filter;
}

/** The path of a PATCH operation. Throws `scim_invalid` (`invalidPath`). */
export function parsePatchPath(text: string): PatchPath {
  const parser = new FilterParser(text, "invalidPath");
  const path = parser.patchPath();
  parser.end();
  return path;
}

/** Splits an attribute from its schema's URN: after the last colon, and before it where no attribute follows. */
export function attributePath(word: string): AttributePath {
  const lower = word.toLowerCase();
  const colon = lower.startsWith("urn:") ? lower.lastIndexOf(":") : -1;
  const [urn, rest] = colon < 0 ? [null, lower] : [lower.slice(0, colon), lower.slice(colon + 1)];
  // A URN ends in a version and a name: `…:2.0:User` is the schema itself, `…:2.0:User:title` an attribute of it.
  if (urn !== null && /:\d+\.\d+$/.test(urn)) return { urn: lower, name: "", sub: null };
  const dot = rest.indexOf(".");
  return dot < 0 ? { urn, name: rest, sub: null } : { urn, name: rest.slice(0, dot), sub: rest.slice(dot + 1) };
}

class FilterParser {
  readonly #tokens: Token[];
  readonly #text: string;
  readonly #scimType: Extract<ScimType, "invalidFilter" | "invalidPath">;
  #next = 0;
  #terms = 0;

  constructor(text: string, scimType: Extract<ScimType, "invalidFilter" | "invalidPath">) {
    this.#scimType = scimType;
    this.#text = text;
    if (text.length > filterMax) throw this.#refused(`It is longer than ${filterMax} characters`);
    this.#tokens = this.#scan();
  }

  filter(depth: number): Filter {
    const of = [this.#conjunction(depth)];
    while (this.#takeWord("or")) of.push(this.#conjunction(depth));
    return of.length === 1 ? (of[0] as Filter) : { kind: "or", of };
  }

  patchPath(): PatchPath {
    const path = attributePath(this.#word("an attribute"));
    if (path.name === "") return { urn: path.urn, name: null, sub: null, filter: null };
    if (!this.#take("[")) return { ...path, filter: null };
    if (path.sub !== null) throw this.#refused("A filter follows an attribute, not a part of one");
    const filter = this.filter(1);
    this.#expect("]");
    const after = this.#peek();
    const { urn, name } = path;
    return after === undefined ? { urn, name, sub: null, filter } : { urn, name, sub: this.#subAttribute(), filter };
  }

  end(): void {
    const left = this.#peek();
    if (left) throw this.#refused(`Unexpected "${shown(left.text)}" at ${left.at + 1}`);
  }

  #conjunction(depth: number): Filter {
    const of = [this.#term(depth)];
    while (this.#takeWord("and")) of.push(this.#term(depth));
    return of.length === 1 ? (of[0] as Filter) : { kind: "and", of };
  }

  #term(depth: number): Filter {
    if (depth >= depthMax) throw this.#refused(`It is nested more than ${depthMax} deep`);
    if (++this.#terms > termsMax) throw this.#refused(`It has more than ${termsMax} comparisons`);
    if (this.#take("(")) {
      const filter = this.filter(depth + 1);
      this.#expect(")");
      return filter;
    }
    if (this.#peek()?.text.toLowerCase() === "not" && this.#tokens[this.#next + 1]?.text === "(") {
      this.#next += 2;
      const filter = this.filter(depth + 1);
      this.#expect(")");
      return { kind: "not", of: filter };
    }
    return this.#comparison(depth);
  }

  #comparison(depth: number): Filter {
    const path = attributePath(this.#word("an attribute"));
    if (path.name === "") throw this.#refused("A schema is no attribute");
    if (this.#take("[")) {
      const inner = this.filter(depth + 1);
      this.#expect("]");
      const after = this.#peek()?.text ?? "";
      if (!after.startsWith(".")) return { kind: "values", path, of: inner };
      // `emails[type eq "work"].value eq "…"`: both hold for one value of the list.
      const sub = this.#subAttribute();
      const own = this.#operation({ urn: null, name: sub, sub: null });
      return { kind: "values", path, of: { kind: "and", of: [inner, own] } };
    }
    return this.#operation(path);
  }

  #operation(path: AttributePath): Filter {
    const operator = this.#word("an operator").toLowerCase();
    if (operator === "pr") return { kind: "present", path };
    if (!operators.includes(operator)) throw this.#refused(`"${shown(operator)}" is no operator`);
    return { kind: "compare", path, operator: operator as CompareOperator, value: this.#value() };
  }

  #value(): FilterValue {
    const next = this.#tokens[this.#next++];
    if (next === undefined) throw this.#refused("A value is missing at its end");
    const word = next.text.toLowerCase();
    if (word === "true" || word === "false") return word === "true";
    if (word === "null") return null;
    try {
      const value: unknown = JSON.parse(next.text);
      if (typeof value === "string" || typeof value === "number") return value;
    } catch {
      // Said below, for the people who wrote the filter.
    }
    throw this.#refused(`"${shown(next.text)}" is no value; texts stand in double quotes`);
  }

  #subAttribute(): string {
    const text = this.#tokens[this.#next++]?.text ?? "";
    if (!/^\.[A-Za-z$][\w$-]*$/.test(text)) throw this.#refused(`Unexpected "${shown(text)}" after a filter`);
    return text.slice(1).toLowerCase();
  }

  #word(what: string): string {
    const next = this.#tokens[this.#next++];
    if (next !== undefined && /^[A-Za-z$_]/.test(next.text)) return next.text;
    throw this.#refused(next ? `"${shown(next.text)}" at ${next.at + 1} is not ${what}` : `${what} is missing`);
  }

  #peek(): Token | undefined {
    return this.#tokens[this.#next];
  }

  #take(text: string): boolean {
    if (this.#peek()?.text !== text) return false;
    this.#next += 1;
    return true;
  }

  #takeWord(word: string): boolean {
    if (this.#peek()?.text.toLowerCase() !== word) return false;
    this.#next += 1;
    return true;
  }

  #expect(text: string): void {
    if (!this.#take(text)) throw this.#refused(`"${text}" is missing`);
  }

  #scan(): Token[] {
    const tokens: Token[] = [];
    const end = this.#text.trimEnd().length;
    for (let at = 0; at < end; ) {
      token.lastIndex = at;
      const found = token.exec(this.#text) ?? this.#subAfterFilter(at, tokens);
      if (found === null) throw this.#refused(`Unexpected "${shown(this.#text.slice(at).trim())}" at ${at + 1}`);
      tokens.push({ text: found[0].trim(), at });
      at += found[0].length;
    }
    return tokens;
  }

  /** `.value` directly after a closing bracket. */
  #subAfterFilter(at: number, tokens: readonly Token[]): RegExpExecArray | null {
    if (tokens.at(-1)?.text !== "]") return null;
    const sub = /\.[\w$-]{1,64}/y;
    sub.lastIndex = at;
    return sub.exec(this.#text);
  }

  #refused(why: string) {
    const what = this.#scimType === "invalidFilter" ? "The filter" : "The path";
    return scimInvalid(this.#scimType, `${what} cannot be read: ${why}.`);
  }
}
