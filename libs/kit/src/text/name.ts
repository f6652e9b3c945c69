import { longerThan } from "./text-length.ts";

/** Longest name of a person or a record (docs/behaviour.md#names). */
export const nameMax = 255;

/** Halves of characters, controls, and separators of lines and paragraphs. */
const broken = /[\p{Surrogate}\p{Cc}\p{Zl}\p{Zp}]/u;
/** What is there and not seen: zero widths, turns of direction, fillers, tags, the empty Braille cell. */
const invisible = /[\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]/u;
/**
 * Where such characters belong to what is seen: parts of an emoji, the joiners of scripts whose letters they shape (RFC
 * 5892, appendix A), and variants of ideographs.
 */
const allowedInvisible = new RegExp(
  [
    String.raw`(?<=[\p{Extended_Pictographic}\p{Emoji_Modifier}\p{Emoji}#*]\ufe0f?)\u200d(?=\p{Extended_Pictographic})`,
    String.raw`(?<=[\p{Emoji}\p{Extended_Pictographic}])[\ufe0e\ufe0f]`,
    String.raw`(?<=[\p{Script=Arabic}\p{Script=Syriac}\p{Script=Mongolian}\p{M}])[\u200c\u200d](?=[\p{L}\p{M}])`,
    String.raw`(?<=\p{Script=Han})[\u{e0100}-\u{e01ef}]`,
    String.raw`(?<=\p{Script=Mongolian})[\u180b-\u180d\u180f]`,
  ].join("|"),
  "gu",
);

/**
 * What is wrong with the name of a person or of anything else, or null: 1 to 255 characters on one line, all of which
 * can be seen, so that no two names look the same by them and none turns the text around it.
 */
export function nameError(name: string): string | null {
  if (name.trim() === "" || longerThan(name, nameMax)) return `1 to ${nameMax} characters`;
  if (broken.test(name) || invisible.test(name.replace(allowedInvisible, ""))) {
    return "No control or invisible characters, and no line breaks";
  }
  return null;
}
