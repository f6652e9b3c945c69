import { reasonSentence } from "./reason-sentences.ts";

const instant = /\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g;

/**
 * A sentence of the API as people read it: its instants in their zone, the last failure's reason as a sentence, and
 * without the state that stands before it.
 */
export const withInstants = (sentence: string, textOf: (at: Date) => string): string =>
  sentence
    .replace(/^Halted: (.)/, (_all, first: string) => first.toUpperCase())
    .replace(/, the last: ([a-z_]+)\.?$/, (_all, reason: string) => `. The last: ${reasonSentence(reason)}`)
    .replaceAll(instant, (text) => textOf(new Date(text)));
