import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { runInNewContext } from "node:vm";
import { type AST, RegExpParser, visitRegExpAST } from "@eslint-community/regexpp";
import { parseSync } from "@swc/core";

export type FoundPattern = { where: string; source: string; flags: string };

/** Longest run an unauthenticated caller can send in one header. */
const runLength = 16 * 1024;
/** A linear match of 16 KiB takes well below one millisecond, a quadratic one about 200. */
const slowMs = 25;
const tries = 4;
/** An exponential match never ends by itself. */
const endlessMs = 10_000;

/** Every regular expression literal in the TypeScript sources below a folder, without tests and generated code. */
export function patternsBelow(root: string, folder: string): FoundPattern[] {
  const found: FoundPattern[] = [];
  for (const entry of readdirSync(join(root, folder), { recursive: true, withFileTypes: true })) {
    const file = join(entry.parentPath, entry.name);
    const skipped = /\.(?:test|d)\.ts$/.test(file) || /\/(?:node_modules|dist|testing|gen)\//.test(file);
    if (!entry.isFile() || !file.endsWith(".ts") || skipped) continue;
    const where = relative(root, file);
    collect(parseSync(readFileSync(file, "utf8"), { syntax: "typescript", target: "es2023" }), (source, flags) => {
      found.push({ where, source, flags });
    });
  }
  return found;
}

type RegExpLiteral = { type: "RegExpLiteral"; pattern: string; flags: string };

function collect(node: unknown, found: (source: string, flags: string) => void): void {
  if (typeof node !== "object" || node === null) return;
  const { type, pattern, flags } = node as RegExpLiteral;
  if (type === "RegExpLiteral") found(pattern, flags);
  else for (const inner of Object.values(node)) collect(inner, found);
}

/**
 * The text of at most 16 KiB that a pattern takes longer to match than any linear match, or null. For each repetition
 * in the pattern: the shortest way to it, then 16 KiB of each character that it repeats, then an end that does not fit.
 */
export function slowTextFor({ source, flags }: Pick<FoundPattern, "source" | "flags">): string | null {
  // A sticky pattern matches at one place alone.
  const pattern = new RegExp(source, flags.replace("g", ""));
  let tried = "";
  const run = () => {
    for (const text of attacksOn(source, flags)) {
      tried = text;
      if (isSlow(pattern, text)) return text;
    }
    return null;
  };
  try {
    return runInNewContext("run()", { run }, { timeout: endlessMs }) as string | null;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ERR_SCRIPT_EXECUTION_TIMEOUT") return tried;
    throw error;
  }
}

/**
 * The fastest of some tries counts: other work on this machine is no fault of the pattern. On a slow machine a linear
 * match takes long, too, but a quarter of the text a quarter of that; a quadratic one a sixteenth.
 */
function isSlow(pattern: RegExp, text: string): boolean {
  const ms = fastestMs(pattern, text, slowMs);
  return ms >= slowMs && ms > 8 * fastestMs(pattern, text.slice(0, text.length / 4) + text.slice(-2), 0);
}

/** Of some tries, until one takes less than `enoughMs`. */
function fastestMs(pattern: RegExp, text: string, enoughMs: number): number {
  let fastest = Number.POSITIVE_INFINITY;
  for (let i = 0; i < tries && fastest >= enoughMs; i++) {
    const startedMs = performance.now();
    pattern.lastIndex = 0;
    pattern.test(text);
    fastest = Math.min(fastest, performance.now() - startedMs);
  }
  return fastest;
}

const ends = ["", "\n", "\0", "!", "x", "=", " x"];
const usual = [..." \t\r\naAzZ09_-.,:;/\\=+%@#!\"'(){}[]<>|&*?$^~`é\u00a0\u2028"];

function attacksOn(source: string, flags: string): Set<string> {
  const mode = { unicode: flags.includes("u"), unicodeSets: flags.includes("v") };
  const ast = new RegExpParser().parsePattern(source, 0, source.length, mode);
  const alphabet = new Set(usual);
  const repeated: AST.Quantifier[] = [];
  visitRegExpAST(ast, {
    onCharacterEnter: ({ value }) => void alphabet.add(String.fromCodePoint(value)),
    onQuantifierEnter: (node) => void (node.max > 1 && repeated.push(node)),
  });
  const texts = new Set<string>();
  const attack = (prefix: string, unit: string) => {
    const run = unit.repeat(Math.ceil(runLength / unit.length));
    for (const end of ends) texts.add(`${prefix}${run}${end}`);
  };
  if (!source.startsWith("^") || flags.includes("m")) for (const unit of alphabet) attack("", unit);
  for (const node of repeated) {
    const fits = new RegExp(`^(?:${node.element.raw})$`, flags.replace(/[gy]/g, ""));
    const prefix = before(node);
    for (const unit of alphabet) if (safely(fits, unit)) attack(prefix, unit);
    const sample = shortest(node.element);
    if (sample !== "") attack(prefix, sample);
  }
  return texts;
}

/** An element with a back reference cannot be tried by itself. */
function safely(fits: RegExp, unit: string): boolean {
  try {
    return fits.test(unit);
  } catch {
    return false;
  }
}

/** The shortest text that brings a match to this node. */
function before(node: AST.Node): string {
  const { parent } = node;
  if (parent === null) return "";
  const own =
    parent.type === "Alternative"
      ? parent.elements
          .slice(0, parent.elements.indexOf(node as AST.Element))
          .map(shortest)
          .join("")
      : "";
  return before(parent) + own;
}

function shortest(node: AST.Element): string {
  switch (node.type) {
    case "Character":
      return String.fromCodePoint(node.value);
    case "CharacterSet":
    case "CharacterClass":
    case "ExpressionCharacterClass": {
      const fits = new RegExp(`^${node.raw}$`, node.type === "ExpressionCharacterClass" ? "v" : "u");
      return usual.find((text) => /\w/.test(text) && fits.test(text)) ?? usual.find((text) => fits.test(text)) ?? "a";
    }
    case "Quantifier":
      return shortest(node.element).repeat(node.min);
    case "Group":
    case "CapturingGroup":
      return (node.alternatives[0]?.elements ?? []).map(shortest).join("");
    default:
      return "";
  }
}
