// The rules of layers, without the files they are applied to: rooms.mjs says which.
import { basename, dirname } from "node:path";

/** The folder of a file, at the top of its source; a file at the top itself counts as a room of its name. */
export const roomOf = (file) => (dirname(file) === "." ? basename(file).replace(/\.\w+$/, "") : file.split("/")[0]);

const rowOf = (rows, room) => rows.findIndex((row) => row.includes(room));

/**
 * Problems of imports between rooms. `rows` is the order from the top down: a room imports from rows below its own
 * alone. `imports` are pairs of files.
 */
export function layerProblems(rows, files, imports) {
  const rooms = [...new Set(files.map(roomOf))];
  const problems = rooms.filter((room) => rowOf(rows, room) < 0).map((room) => `${room} is no room that it has`);
  for (const [from, to] of imports) {
    const [above, below] = [rowOf(rows, roomOf(from)), rowOf(rows, roomOf(to))];
    if (roomOf(from) === roomOf(to) || above < 0 || below < 0 || above < below) continue;
    problems.push(`${from} imports ${to}, which is not below it (docs/reading-the-code.md, "Layers")`);
  }
  return problems;
}

/** Lines `room → rooms`, from the top down. */
export function layerLines(rows, files, imports) {
  const byRow = (a, b) => rowOf(rows, a) - rowOf(rows, b);
  return [...new Set(files.map(roomOf))].sort(byRow).flatMap((room) => {
    const to = new Set(imports.filter(([from]) => roomOf(from) === room).map(([, target]) => roomOf(target)));
    to.delete(room);
    return to.size === 0 ? [] : [`${room} → ${[...to].sort(byRow).join(", ")}`];
  });
}

/** One cycle among the files, as the list of its files, or null. */
export function cycleIn(files, imports) {
  const next = new Map(files.map((file) => [file, []]));
  for (const [from, to] of imports) next.get(from).push(to);
  const done = new Set();
  const visit = (file, path) => {
    if (path.includes(file)) return [...path.slice(path.indexOf(file)), file];
    if (done.has(file)) return null;
    for (const to of next.get(file)) {
      const cycle = visit(to, [...path, file]);
      if (cycle) return cycle;
    }
    done.add(file);
    return null;
  };
  for (const file of files) {
    const cycle = visit(file, []);
    if (cycle) return cycle;
  }
  return null;
}

/** Names that a package exports from more than one file, with these files. */
export function sharedNames(exportsOf) {
  const files = new Map();
  for (const [file, names] of exportsOf) for (const name of names) files.set(name, [...(files.get(name) ?? []), file]);
  return [...files].filter(([, where]) => where.length > 1);
}

/** Throws unless planted problems are found: a check that finds nothing looks like code without problems. */
export function checkItself() {
  const rows = [["main"], ["rpc"], ["store"]];
  const files = ["main.ts", "rpc/site.ts", "store/site.ts"];
  const down = [
    ["main.ts", "rpc/site.ts"],
    ["rpc/site.ts", "store/site.ts"],
  ];
  const planted = [
    [layerProblems(rows, files, down), 0],
    [layerProblems(rows, files, [...down, ["store/site.ts", "rpc/site.ts"]]), 1],
    [layerProblems(rows, [...files, "extra/site.ts"], down), 1],
    [cycleIn(files, down) ?? [], 0],
    [cycleIn(files, [...down, ["store/site.ts", "main.ts"]]) ?? [], 4],
    [
      sharedNames([
        ["rpc/site.ts", ["site"]],
        ["store/site.ts", ["site", "sites"]],
      ]),
      1,
    ],
  ];
  for (const [found, count] of planted)
    if (found.length !== count)
      throw new Error(`the check of layers found ${found.join("; ")} where ${count} is planted`);
}
