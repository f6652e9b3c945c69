/** A part of a whole as a percentage: what is there is never 0 %, and what is not all never 100 %. */
export function shareOf(part: number, whole: number): string {
  if (part === 0 || whole === 0) return "0 %";
  const percent = Math.round((100 * part) / whole);
  if (percent === 0) return "< 1 %";
  return percent === 100 && part < whole ? "> 99 %" : `${percent} %`;
}
