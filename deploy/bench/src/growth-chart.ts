const width = 640;
const height = 360;
const left = 60;
const right = 170;
const top = 20;
const bottom = 40;
const colours = ["#1b6ac9", "#c2410c", "#15803d", "#7e22ce", "#a16207", "#475569", "#be185d"];

/** An SVG of milliseconds by rows, both axes logarithmic. */
export function chart(table: Record<string, Record<number, number>>): string {
  const sizes = [...new Set(Object.values(table).flatMap((row) => Object.keys(row).map(Number)))].sort((a, b) => a - b);
  const values = Object.values(table).flatMap((row) => Object.values(row));
  const [lowest, highest] = [
    10 ** Math.floor(Math.log10(Math.min(...values))),
    10 ** Math.ceil(Math.log10(Math.max(...values))),
  ];
  const share = (value: number, from: number, to: number) =>
    to === from ? 0.5 : (Math.log10(value) - Math.log10(from)) / (Math.log10(to) - Math.log10(from));
  const x = (size: number) => left + share(size, sizes[0] ?? 1, sizes.at(-1) ?? 10) * (width - left - right);
  const y = (ms: number) => height - bottom - share(ms, lowest, highest) * (height - top - bottom);
  const parts: string[] = [];
  for (let ms = lowest; ms <= highest; ms *= 10) {
    parts.push(`<path d="M${left} ${y(ms)}H${width - right}" stroke="#ddd"/>`);
    parts.push(`<text x="${left - 8}" y="${y(ms) + 4}" text-anchor="end">${ms} ms</text>`);
  }
  for (const size of sizes) {
    parts.push(`<text x="${x(size)}" y="${height - 16}" text-anchor="middle">${size.toLocaleString("en-US")}</text>`);
  }
  Object.entries(table).forEach(([name, row], n) => {
    const points = sizes
      .filter((size) => row[size] !== undefined)
      .map((size) => [x(size), y(row[size] as number)] as const);
    const colour = colours[n % colours.length];
    const [endX, endY] = points.at(-1) ?? [0, 0];
    parts.push(
      `<polyline points="${points.map((point) => point.join(",")).join(" ")}" fill="none" stroke="${colour}" stroke-width="2"/>`,
    );
    for (const [cx, cy] of points) parts.push(`<circle cx="${cx}" cy="${cy}" r="3" fill="${colour}"/>`);
    parts.push(`<text x="${endX + 10}" y="${endY + 4}" fill="${colour}">${name}</text>`);
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="12">
<title>Milliseconds, p50, by rows of each table</title>
<rect width="${width}" height="${height}" fill="#fff"/>
${parts.join("\n")}
</svg>
`;
}
