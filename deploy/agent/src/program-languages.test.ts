import { expect, it } from "@jest/globals";
// @ts-expect-error it has no types
import { withoutLanguages } from "../../program/locales.mjs";

const headerBytes = 32;

/** A program in which ICU's data has these items, each with its name as bytes. */
function programWith(names: readonly string[]): Buffer {
  const header = Buffer.alloc(headerBytes);
  header.writeUInt16LE(headerBytes, 0);
  header.write("CmnD", 12, "latin1");
  header.set([0xda, 0x27], 2);
  const table = Buffer.alloc(4 + 8 * names.length);
  table.writeUInt32LE(names.length, 0);
  const texts = Buffer.from(names.map((name) => `${name}\0`).join(""), "latin1");
  let at = table.length;
  for (const [n, name] of names.entries()) {
    table.writeUInt32LE(at, 4 + 8 * n);
    table.writeUInt32LE(at + texts.length, 8 + 8 * n);
    at += name.length + 1;
  }
  // Another text with the name of the format, as the reader of the data has.
  return Buffer.concat([Buffer.from("ELF _CmnDFuncs "), header, table, texts, texts]);
}

/** Names in the table of contents, with the bytes of each. */
function itemsIn(program: Buffer): string[][] {
  const base = program.indexOf("CmnD", 10) - 12 + headerBytes;
  const textAt = (at: number) => program.toString("latin1", base + at, program.indexOf(0, base + at));
  return Array.from({ length: program.readUInt32LE(base) }, (_, n) =>
    [4, 8].map((at) => textAt(program.readUInt32LE(base + at + 8 * n))),
  );
}

const pathOf = (name: string) => `icudt78l/${name}`;
const english = ["curr/en_GB.res", "en.res", "zone/en_US_POSIX.res"];
const ofAll = ["brkitr/root.res", "cnvalias.icu", "coll/root.res", "curr/supplementalData.res", "lang/pool.res"];
const alsoOfAll = ["res_index.res", "root.res", "supplementalData.res", "zone/res_index.res", "zoneinfo64.res"];
const others = ["af_NA.res", "coll/zh.res", "lang/de.res", "rbnf/fr.res", "zu.res"];

it("a program keeps English and what all languages share, and zeros where the others were", () => {
  const shared = [...english, ...ofAll, ...alsoOfAll].map(pathOf).sort();
  const program = programWith([...shared, ...others.map(pathOf)].sort());
  const changed: Buffer = withoutLanguages(program);
  expect(itemsIn(changed)).toEqual(shared.map((name) => [name, name]));
  expect(changed.length).toBe(program.length);
  const count = (text: string) => changed.toString("latin1").split(pathOf(text)).length - 1;
  // Once as a name, which nothing leads to, and no more as bytes.
  expect(["coll/zh.res", "lang/de.res", "rbnf/fr.res"].map(count)).toEqual([1, 1, 1]);
});

it("a program with other data than one table of ICU's is refused", () => {
  expect(() => withoutLanguages(Buffer.from("no Node"))).toThrow("0 times");
  const program = programWith([pathOf("en.res")]);
  expect(() => withoutLanguages(Buffer.concat([program, program]))).toThrow("2 times");
});
