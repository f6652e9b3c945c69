// No import here: the offline verifier consists of these files only.
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** The lines of a note's text; empty when it does not end in a newline. */
export function linesOf(text: string): string[] {
  return text.endsWith("\n") ? text.slice(0, -1).split("\n") : [];
}

/** A UUID in the one spelling that notes use. */
export function isChainId(text: string): boolean {
  return uuid.test(text);
}

/** A position in a chain, from 1, written in one way. */
export function isSeq(text: string): boolean {
  return /^[1-9]\d{0,15}$/.test(text) && Number.isSafeInteger(Number(text));
}
