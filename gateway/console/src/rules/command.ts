/** A command that was typed: what may be meant by its first words, and the words by which its record is found. */
export type Command = { verbs: readonly string[]; rest: string };

/** Fewer letters are no verb yet: "en" may become a host name. */
const verbLetters = 3;

/**
 * The verbs that a text begins with, of those that exist, and the rest; null for a text that is only searched.
 * "disable ada" and "disa ada" are both Disable; "rotate prod" is Rotate, "rot prod" Rotate secret, too.
 */
export function commandIn(text: string, verbs: readonly string[]): Command | null {
  const typed = text.trim().toLowerCase();
  const whole = verbs
    .filter((verb) => typed === verb.toLowerCase() || typed.startsWith(`${verb.toLowerCase()} `))
    .sort((a, b) => b.length - a.length)[0];
  if (whole) return { verbs: [whole], rest: text.trim().slice(whole.length).trim() };
  const [first = "", ...others] = text.trim().split(/\s+/);
  if (first.length < verbLetters) return null;
  const meant = verbs.filter((each) => each.toLowerCase().startsWith(first.toLowerCase()));
  return meant.length > 0 ? { verbs: meant, rest: others.join(" ") } : null;
}

/** The words after a noun that they begin with: "key prod" is "prod" among keys. Null where they do not. */
export function afterNoun(words: string, noun: string): string | null {
  const typed = words.toLowerCase();
  const [named] = [`${noun}s`, noun].filter((each) => typed === each || typed.startsWith(`${each} `));
  return named === undefined ? null : words.slice(named.length).trim();
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
