/** A command that was typed: what is to be done, and the words by which its record is found. */
export type Command = { verb: string; rest: string };

/** Fewer letters are no verb yet: "en" may become a host name. */
const verbLetters = 3;

/**
 * The verb at the beginning of a text, of those that exist, and the rest; null for a text that is only searched.
 * "disable ada" and "disa ada" are both Disable.
 */
export function commandIn(text: string, verbs: readonly string[]): Command | null {
  const typed = text.trim().toLowerCase();
  const whole = verbs
    .filter((verb) => typed === verb.toLowerCase() || typed.startsWith(`${verb.toLowerCase()} `))
    .sort((a, b) => b.length - a.length)[0];
  if (whole) return { verb: whole, rest: text.trim().slice(whole.length).trim() };
  const [first = "", ...others] = text.trim().split(/\s+/);
  if (first.length < verbLetters) return null;
  const verb = verbs.find((each) => each.toLowerCase().startsWith(first.toLowerCase()));
  return verb ? { verb, rest: others.join(" ") } : null;
}

/**
 * A text in three parts: before the match, the match, after it. The last match counts, since verbs come before names;
 * it is empty where there is none.
 */
export function marked(text: string, search: string): readonly [string, string, string] {
  const at = search === "" ? -1 : text.toLowerCase().lastIndexOf(search.toLowerCase());
  return at < 0
    ? [text, "", ""]
    : [text.slice(0, at), text.slice(at, at + search.length), text.slice(at + search.length)];
}
