import type { Performed } from "./run.ts";

const short: Record<string, string> = {
  system: "sys",
  "partner all": "p.all",
  "partner list": "p.list",
  "partner empty": "p.none",
  "no factor": "no mfa",
  "other partner": "p.other",
  suspended: "susp",
  "org admin": "o.adm",
  "org viewer": "o.view",
  "org one site": "o.site",
  "sibling org": "o.sib",
  "foreign org": "o.fgn",
  anonymous: "anon",
  agent: "agent",
  directory: "dir",
};

/** The matrix as text: a row per route, a column per actor, the statuses met over all targets in each cell. */
export function matrixText(performed: readonly Performed[]): string {
  const rows = new Map<string, Map<string, Set<string>>>();
  for (const { cell, answer } of performed) {
    const row = rows.get(cell.subject.key) ?? new Map<string, Set<string>>();
    rows.set(cell.subject.key, row);
    const met = row.get(cell.actor.name) ?? new Set<string>();
    row.set(cell.actor.name, met);
    met.add(answer.status < 300 ? "2xx" : String(answer.status));
  }
  const actors = [...new Set(performed.map(({ cell }) => cell.actor.name))];
  const lines = [["route", ...actors.map((name) => short[name] ?? name)]];
  for (const [key, row] of rows)
    lines.push([key, ...actors.map((name) => [...(row.get(name) ?? [])].sort().join("/"))]);
  const widths = lines[0]?.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0))) ?? [];
  return lines
    .map((line) =>
      line
        .map((text, column) => text.padEnd(widths[column] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}
