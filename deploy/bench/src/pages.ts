import { type Figure, isLimited, shown, shownLimit } from "./report.ts";
import { currentFigures, type Run } from "./results.ts";

/** What a page of docs/performance consists of, in this order. */
export const sections = [
  "Measured",
  "Set-up",
  "Command",
  "Figures",
  "Where the time goes",
  "Limits of the measurement",
] as const;
/** As `wc -w` counts, without the lines of runs: names of machines may be long. */
export const wordsMax = { page: 350, all: 12_000 };

/** A bench with its page and its runs, oldest first. */
export type Documented = { bench: string; page: string; runs: readonly Run[] };

export const wordsOf = (text: string) =>
  text
    .replaceAll(/^- `[^`]+`, \d{4}-.*$/gm, "")
    .split(/\s+/)
    .filter(Boolean).length;

const cells = (...all: readonly string[]) => `| ${all.join(" | ")} |`;
const isMissed = ({ held }: Figure) => held === false;
const dayOf = ({ time }: Run) => time.slice(0, 10);

/** `text` with what stands between its marks of that name replaced; throws an Error when it has none. */
export function withBlock(text: string, name: string, block: string): string {
  const [begin, end] = [`<!-- ${name} -->`, `<!-- /${name} -->`];
  const [from, to] = [text.indexOf(begin), text.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`no ${begin} … ${end}`);
  return `${text.slice(0, from + begin.length)}\n${block}\n${text.slice(to)}`;
}

/**
 * The newest figures of a bench: those with a limit in a table, counts that must be and are 0 in a sentence, as are
 * those without a limit; then the runs that measured them.
 */
export function figuresBlock(runs: readonly Run[]): string {
  const current = currentFigures(runs);
  const figures = current.map(({ figure }) => figure);
  const zeros = figures.filter(isZero).map(({ name }) => name);
  const rows = figures.filter((figure) => isLimited(figure) && !isZero(figure)).map(figureRow);
  const others = figures.filter((figure) => !isLimited(figure));
  const also = others.map(({ name, value, unit }) => `${name} ${shown(value, unit)}`);
  const measuring = runs.filter((run) => current.some((each) => each.run === run));
  return [
    ...(rows.length > 0 ? ["", cells("Figure", "Measured", "Limit"), "|---|---|---|", ...rows] : []),
    ...(zeros.length > 0 ? ["", `None, as required: ${zeros.join("; ")}.`] : []),
    ...(also.length > 0 ? ["", `Without a limit: ${also.join("; ")}.`] : []),
    "",
    ...measuring.map((run, at) => runLine(run, measuring[at - 1])),
    "",
  ].join("\n");
}

const isZero = ({ value, atMost }: Figure) => value === 0 && atMost === 0;

function figureRow(figure: Figure): string {
  const limit = shownLimit(figure);
  return cells(figure.name, shown(figure.value, figure.unit), figure.held ? limit : `${limit}, **missed**`);
}

function runLine({ time, commit, machine, load, command, note }: Run, before: Run | undefined): string {
  const what = command.replace(/^npm run bench -- /, "");
  const facts = [`\`${what}\``, time.slice(0, 10), commit.slice(0, 8), ...(load ? [`load ${load.join(" → ")}`] : [])];
  const machines = machine === before?.machine ? [] : [machine];
  return `- ${[...facts, ...machines, ...(note ? [note] : [])].join(", ")}`;
}

/** Reasons of missed figures by name: lines of a page such as "- **Missed**, `name`, `other`: why." */
export function reasonsIn(page: string): Map<string, string> {
  const reasons = new Map<string, string>();
  for (const [, names = "", reason = ""] of page.matchAll(/^- \*\*Missed\*\*, (`.+`): (.+(?:\n {2}.+)*)$/gm)) {
    for (const name of names.slice(1, -1).split("`, `")) reasons.set(name, reason.replaceAll(/\s+/g, " "));
  }
  return reasons;
}

const titleOf = (page: string) => /^# `[^`]+`: (.+)$/m.exec(page)?.[1] ?? "";

/** The summary of all benches: its first figure with a limit each, how many are held, then every missed one. */
export function summaryBlock(all: readonly Documented[]): string {
  const rows = all.map(({ bench, page, runs }) => {
    const limited = currentFigures(runs).filter(({ figure }) => isLimited(figure));
    const [first] = limited;
    const held = limited.filter(({ figure }) => figure.held).length;
    const share = `${held}/${limited.length}`;
    return cells(
      `[${bench}](performance/${bench}.md)`,
      titleOf(page),
      first
        ? `${first.figure.name}: ${shown(first.figure.value, first.figure.unit)} (${shownLimit(first.figure)})`
        : "",
      held < limited.length ? `**${share}**` : share,
      dayOf(runs.at(-1) as Run),
    );
  });
  return [
    "",
    cells("Bench", "Measures", "First figure (limit)", "Held", "Run"),
    "|---|---|---|---|---|",
    ...rows,
    "",
    "## Missed",
    "",
    ...all.flatMap(missedLine),
    "",
  ].join("\n");
}

/** A line of a bench that misses a limit; its page has the reasons. */
function missedLine({ bench, runs }: Documented): string[] {
  const missed = currentFigures(runs)
    .map(({ figure }) => figure)
    .filter(isMissed);
  return missed.length === 0 ? [] : [`- [${bench}](performance/${bench}.md): ${missed.map(measuredOf).join("; ")}`];
}

/** `p99: 29 ms (≤ 30)`. */
function measuredOf(figure: Figure): string {
  const limit = isZero(figure) || !isLimited(figure) ? "" : ` (${shownLimit(figure)})`;
  return `${figure.name}: ${shown(figure.value, figure.unit)}${limit}`;
}

/** What is wrong with the page of a bench, one sentence each. */
export function problemsOf({ bench, page, runs }: Documented): string[] {
  const headings = [...page.matchAll(/^## (.+)$/gm)].map(([, heading]) => heading);
  const current = currentFigures(runs);
  const missed = current.filter(({ figure }) => isMissed(figure)).map(({ figure }) => figure.name);
  const reasons = reasonsIn(page);
  const words = wordsOf(page);
  return [
    ...(runs.length === 0 ? ["has no results"] : []),
    ...(current.length > 0 && !current.some(({ figure }) => isLimited(figure)) ? ["has no figure with a limit"] : []),
    ...(page.startsWith(`# \`${bench}\`: `) ? [] : [`does not begin with "# \`${bench}\`: what it measures"`]),
    ...(headings.join() === sections.join() ? [] : [`has not the sections ${sections.join(", ")}`]),
    ...(words > wordsMax.page ? [`has ${words} words, ${wordsMax.page} at most`] : []),
    ...missed.filter((name) => !reasons.has(name)).map((name) => `says no reason why "${name}" is missed`),
    ...[...reasons.keys()].filter((name) => !missed.includes(name)).map((name) => `says that "${name}" is missed`),
  ];
}
