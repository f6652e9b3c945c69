import { createRequire } from "node:module";

type Dictionaries = { dictionary: { "passwords-common": string[] } };
let read: string | null = null;

/**
 * Some 49,000 passwords from breaches, lower case, each between line ends; read with the first new password. One text
 * of 0.4 MB: a set of them and the module that they come from took 7.
 */
function common(): string {
  if (read !== null) return read;
  const load = createRequire(import.meta.url);
  const before = new Set(Object.keys(load.cache));
  const { dictionary } = load("@zxcvbn-ts/language-common") as Dictionaries;
  read = `\n${dictionary["passwords-common"].join("\n")}\n`;
  for (const file of Object.keys(load.cache)) if (!before.has(file)) delete load.cache[file];
  return read;
}

const isListed = (word: string) => !word.includes("\n") && common().includes(`\n${word}\n`);

/** The platform's own name is the first that is tried on it. */
const ownNames = ["muster", "admin", "administrator"];

/** Digits and signs that stand for letters. */
const spoken: Readonly<Record<string, string>> = {
  "0": "o",
  "1": "i",
  "3": "e",
  "4": "a",
  "5": "s",
  "7": "t",
  "@": "a",
  $: "s",
  "!": "i",
};

const keyboard = "qwertyuiopasdfghjklzxcvbnm";
const forwards = ["abcdefghijklmnopqrstuvwxyz", "0123456789".repeat(4), keyboard];
const rows = forwards.flatMap((row) => [row, [...row].reverse().join("")]);

/** Fewer different characters than this are a pattern, whatever the length. */
const leastDistinct = 5;
/** Digits in a row that add next to nothing: years, dates, 1234. */
const fewDigits = 6;
const fewSigns = 4;

/**
 * Whether a password is a common guess (NIST SP 800-63B, 5.1.1.2): a well-known one, also with its letters spelled in
 * digits, with digits and signs around it, or repeated; the user's e-mail, its parts or the platform's name dressed
 * up so; few different characters, or a row of the alphabet, the digits or the keyboard. Combinations of other words
 * are not checked.
 */
export function isCommonPassword(password: string, email: string): boolean {
  const text = password.normalize("NFKC").toLowerCase().trim();
  if (isListed(text) || new Set(text).size < leastDistinct || isRow(text)) return true;
  const own = new Set([...ownNames, ...partsOf(email)]);
  const [local = ""] = email.toLowerCase().split("@");
  const rest = local.length < 3 ? text : text.replaceAll(local, " ");
  return isDressedUp(rest, own) || isDressedUp(spelledOut(rest), own);
}

/** Its letters are one common word or none, its digits and signs nothing of weight. */
function isDressedUp(text: string, own: ReadonlySet<string>): boolean {
  const words = new Set((text.match(/\p{L}+/gu) ?? []).map(once).filter((word) => !own.has(word)));
  const areListed = [...words].every(isListed);
  const signs = new Set(text.match(/[^\p{L}\p{N}\s]/gu));
  const digits = text.match(/\p{N}+/gu) ?? [];
  const areFew = words.size <= 1 && signs.size <= fewSigns;
  return areFew && areListed && digits.every((run) => once(run).length <= fewDigits || isListed(run) || isRow(run));
}

/** `@dm1n123` as `admin123`: digits at the end of a word are no letters of it. */
function spelledOut(text: string): string {
  return text.replace(/[\p{L}\p{N}@$!]+/gu, (run) => {
    const end = /(?<![\p{N}!])[\p{N}!]*$/u.exec(run)?.index ?? run.length;
    return [...run.slice(0, end)].map((letter) => spoken[letter] ?? letter).join("") + run.slice(end);
  });
}

/** `dragondragon` as `dragon`. */
function once(word: string): string {
  for (let size = 1; size <= word.length / 2; size++) {
    const unit = word.slice(0, size);
    if (word.length % size === 0 && unit.repeat(word.length / size) === word) return unit;
  }
  return word;
}

/** A piece of the alphabet, of the digits or of the keyboard, forwards or backwards. */
function isRow(text: string): boolean {
  return rows.some((row) => row.includes(text));
}

function partsOf(email: string): string[] {
  const [local = "", domain = ""] = email.toLowerCase().split("@");
  return [local, ...local.split(/[^\p{L}]+/u), ...domain.split(/[^\p{L}]+/u)].filter((part) => part.length > 1);
}
