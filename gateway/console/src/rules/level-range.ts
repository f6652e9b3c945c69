/** What remains free below the lowest value and above the highest one, of the distance between both. */
const room = 0.25;

/**
 * The axis of levels. Those in the upper half of it begin near the lowest one, at a round number: from zero on, they
 * would all be one line. Others begin at zero.
 */
export function levelRange(least: number, most: number): [from: number, to: number] {
  const distance = most - least;
  const to = Math.max(1, most + distance * 0.05, most * 1.01);
  if (least <= most / 2 || distance < 1) return [0, to];
  const step = 10 ** Math.floor(Math.log10(distance));
  return [Math.max(0, Math.floor((least - distance * room) / step) * step), to];
}
