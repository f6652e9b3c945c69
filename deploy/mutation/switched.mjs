/**
 * A source with all of its mutants, which behaves as it does without them until `globalThis.musterMutant(id)` is true
 * of one: so its tests are loaded once for each of them, and not compiled again.
 *
 * @param {string} source
 * @param {{ id: number, start: number, end: number, text: string }[]} mutants of this source
 */
export function switched(source, mutants) {
  // What contains another comes first.
  const left = [...mutants].sort((a, b) => a.start - b.start || b.end - a.end);
  const written = (start, end) => {
    let text = "";
    let at = start;
    while (left.length > 0 && left[0].start < end) {
      const same = left.filter((each) => each.start === left[0].start && each.end === left[0].end);
      left.splice(0, same.length);
      const [{ start: from, end: to }] = same;
      const original = written(from, to);
      const cases = same.map(({ id, text: mutated }) => `globalThis.musterMutant?.(${id}) ? (${mutated}) : `);
      text += `${source.slice(at, from)}(${cases.join("")}(${original}))`;
      at = to;
    }
    return text + source.slice(at, end);
  };
  return written(0, source.length);
}
