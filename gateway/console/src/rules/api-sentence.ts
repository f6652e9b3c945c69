import { ago, lasted } from "./ago.ts";
import { reasonSentence } from "./reason-sentences.ts";

const instant = /(?:\b(since|at|until) )?(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z)/g;

/** An instant of a sentence, with the word before it that belongs to it, empty without one. */
type InstantPart = { at: Date; word: string };
/** Texts of a sentence, and its instants, in their order. */
export type SentencePart = string | InstantPart;

/**
 * A sentence of the API as people read it: its instants apart, the last failure's reason as a sentence, and without the
 * state that stands before it.
 */
export function sentenceParts(sentence: string): SentencePart[] {
  const text = sentence
    .replace(/^Halted: (.)/, (_all, first: string) => first.toUpperCase())
    .replace(/, the last: ([a-z_]+)\.?$/, (_all, reason: string) => `. The last: ${reasonSentence(reason)}`);
  const parts: SentencePart[] = [];
  let from = 0;
  for (const { 0: all, 1: word = "", 2: at = "", index } of text.matchAll(instant)) {
    if (index > from) parts.push(text.slice(from, index));
    parts.push({ at: new Date(at), word });
    from = index + all.length;
  }
  if (from < text.length) parts.push(text.slice(from));
  return parts;
}

/** An instant of a sentence in words: how far it is from `now`, or, for the end of a state, as `shortOf` writes it. */
export function instantWords({ at, word }: InstantPart, now: Date, shortOf: (at: Date) => string): string {
  if (word === "since") return `in the last ${lasted(at, now)}`;
  if (word === "until") return `until ${shortOf(at)}`;
  return ago(at, now, "long");
}

/** The whole sentence as text, its instants as `textOf` writes them. */
export const withInstants = (sentence: string, textOf: (at: Date) => string): string =>
  sentenceParts(sentence)
    .map((part) => (typeof part === "string" ? part : [part.word, textOf(part.at)].filter(Boolean).join(" ")))
    .join("");
