import { fileURLToPath } from "node:url";
import { bareRound } from "./bare-server.ts";
import { benches } from "./benches.ts";
import { loadAverage } from "./process-usage.ts";
import { newReport, shown, shownLimit } from "./report.ts";
import { appendRun, commitOf, thisMachine } from "./results.ts";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const results = fileURLToPath(new URL("../../../docs/performance/results", import.meta.url));

const [name = "", ...rest] = process.argv.slice(2);
const args = rest.filter((arg) => arg !== "--record");
const load = Object.hasOwn(benches, name) ? benches[name] : undefined;
const usage = `usage: npm run bench -- <${Object.keys(benches).join("|")}> [--record]`;
if (process.argv.includes("--help")) console.log(usage);
else if (load) await measured(load);
else {
  console.error(usage);
  process.exitCode = 2;
}

/**
 * Runs a bench and prints its figures against their limits; with --record they are appended to its results, and
 * `npm run bench:pages` brings them into the pages.
 */
async function measured(bench: NonNullable<typeof load>): Promise<void> {
  const report = newReport();
  const time = new Date().toISOString();
  const loadBefore = loadAverage();
  await (await bench()).run(args, report);
  const { figures } = report;
  console.table(
    figures.map((figure) => ({
      figure: figure.name,
      value: shown(figure.value, figure.unit),
      limit: shownLimit(figure),
      held: figure.held ?? "",
    })),
  );
  if (!rest.includes("--record")) return;
  if (figures.length === 0) throw new Error(`${name} measured nothing, so that nothing is recorded`);
  const loads = [loadBefore, loadAverage()] as const;
  const command = ["npm run bench --", name, ...args].join(" ");
  const machine = thisMachine((await bareRound()).cpuUs);
  appendRun(results, name, { time, commit: commitOf(root), machine, load: loads, command, figures });
  console.log(`recorded in docs/performance/results/${name}.jsonl`);
}
