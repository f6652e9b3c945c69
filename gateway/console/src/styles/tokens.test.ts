import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "@jest/globals";

// The three layers: base colours are read by functional ones alone, pages and parts use functional ones.

const sources = fileURLToPath(new URL("..", import.meta.url));
const sheets = readdirSync(sources, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".css"));
const read = (name: string) => readFileSync(join(sources, name), "utf8").replaceAll(/\/\*[\s\S]*?\*\//g, "");
const colours = read("styles/tokens/colour.css");
const others = sheets.filter((name) => !name.startsWith("styles/tokens"));

const declared = new Map(
  [...colours.matchAll(/--([\w-]+): ([^;]+);/g)].map(([, name = "", value = ""]) => [name, value]),
);

/** The two colours of a token, light and dark. */
function resolved(name: string): [string, string] {
  const value = declared.get(name) ?? "";
  const alias = /^var\(--([\w-]+)\)$/.exec(value)?.[1];
  if (alias) return resolved(alias);
  const [, light = "", dark = ""] = /light-dark\((#\w{6}), (#\w{6})\)/.exec(value) ?? [];
  return [light, dark];
}

function luminance(hex: string): number {
  const [r = 0, g = 0, b = 0] = [1, 3, 5].map((at) => {
    const share = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function contrast(one: string, other: string): number {
  const [dark = 0, light = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

const grounds = ["ground", "surface", "sunken", "hover"];
const pairs = [
  ...grounds.flatMap((ground) =>
    ["text", "text-soft", "text-faint", "accent", "good", "warn", "bad"].map((text) => [text, ground] as const),
  ),
  ...["track", "chosen"].flatMap((ground) => ["text", "text-soft"].map((text) => [text, ground] as const)),
  ...["good", "warn", "bad", "off", "accent"].map((tone) => [tone, `${tone}-soft`] as const),
  ["on-accent", "accent"],
  ["text", "accent-soft"],
] as const;

describe("the colours", () => {
  it.each(pairs)("%s is read on %s in both themes", (text, ground) => {
    const [[lightText, darkText], [light, dark]] = [resolved(text), resolved(ground)];
    expect(contrast(lightText, light)).toBeGreaterThanOrEqual(4.5);
    expect(contrast(darkText, dark)).toBeGreaterThanOrEqual(4.5);
  });

  it.each(others)("%s names no colour of its own and no base colour", (name) => {
    expect(read(name).match(/#[0-9a-f]{3,8}\b|\brgb\(|--n\d+\b|--(blue|violet|green|amber|red)\b/gi) ?? []).toEqual([]);
  });
});

describe("the scales", () => {
  it.each(others)("%s takes sizes of type and radii from the tokens", (name) => {
    const own = [...read(name).matchAll(/(font-size|border-radius):\s*([^;]+);/g)]
      .map(([, property = "", value = ""]) => `${property}: ${value}`)
      // In marks a letter is smaller than any text, and a dot is round.
      .filter((line) => !/var\(--|: (0|50%|2px|100%|0\.92em|0\.625rem|0\.875rem)( |$)/.test(line));
    expect(own).toEqual([]);
  });

  it.each(others)("%s uses only tokens that exist", (name) => {
    const all = sheets.map(read).join("\n");
    const scripts = readdirSync(sources, { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".tsx"))
      .map(read)
      .join("\n");
    const existing = new Set(
      [...`${all}${scripts}`.matchAll(/--([\w-]+)(?=["`']?\]?:|", )|setProperty\("--([\w-]+)/g)].map(
        ([, a, b]) => a ?? b,
      ),
    );
    const used = [...read(name).matchAll(/var\(--([\w-]+)(,)?/g)]
      .filter(([, , fallback]) => !fallback)
      .map(([, token]) => token);
    expect(
      used.filter((token) => !existing.has(token) && !token?.startsWith("available") && !/^title-/.test(token ?? "")),
    ).toEqual([]);
  });
});

describe("what scrolls", () => {
  it.each(sheets)("keeps the texts for screen readers inside, or they widen the page: %s", (name) => {
    const rules = [...read(name).matchAll(/([^{}]+)\{([^{}]*)\}/g)];
    const open = rules.filter(([, , body = ""]) => /overflow(-x)?: auto/.test(body) && !/position:/.test(body));
    expect(open.map(([, selector = ""]) => selector.trim())).toEqual([]);
  });
});
