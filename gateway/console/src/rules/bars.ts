export type Bar = { x: number; y: number; width: number; height: number };

/**
 * Bars of a chart in a box, a list per series, the first series at the bottom. A zero has no bar; the tallest stack
 * fills the box.
 */
export function stackedBars(stacks: readonly (readonly number[])[], box: { width: number; height: number }): Bar[][] {
  const most = Math.max(1, ...stacks.map((values) => values.reduce((sum, value) => sum + value, 0)));
  const step = stacks.length === 0 ? box.width : box.width / stacks.length;
  const series = stacks[0]?.length ?? 0;
  return Array.from({ length: series }, (_, at) =>
    stacks.flatMap((values, index) => {
      const value = values[at] ?? 0;
      if (value === 0) return [];
      const below = values.slice(0, at).reduce((sum, each) => sum + each, 0);
      const height = (value / most) * box.height;
      const y = box.height - (below / most) * box.height - height;
      return [{ x: index * step, y, width: Math.max(1, step - 1), height }];
    }),
  );
}
