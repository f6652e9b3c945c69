/** Of a small button's letter, its frame with the cell around it, and the narrowest column, in rem. */
const [perLetter, around, least] = [0.42, 2.5, 7.5];

/** The CSS width of a column of buttons with these texts, in which the longest one fits. */
export function nextWidth(texts: readonly string[]): string {
  const letters = Math.max(0, ...texts.map((text) => text.length));
  return `${Math.max(least, Math.ceil(4 * (around + perLetter * letters)) / 4)}rem`;
}
