import type { Report } from "./report.ts";
import { type Fleet, loadRules, type Outcome, simulate } from "./rollout-model.ts";

/** Devices and organizations of the fleets; runs of each for the share of false halts. */
const fleets = [
  { devices: 10, organizations: 1, runs: 4_000 },
  { devices: 40, organizations: 2, runs: 4_000 },
  { devices: 500, organizations: 10, runs: 2_000 },
  { devices: 5_000, organizations: 100, runs: 400 },
  { devices: 50_000, organizations: 500, runs: 60 },
  { devices: 100_000, organizations: 500, runs: 30 },
];
const rates = [0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1];
const goodRate = 0.005;
const runsPerRate = 20;
const minutes = (seconds: number) => seconds / 60;

/**
 * Simulates releases on fleets of 10 to 100,000 devices with the rules of agent-release: how often a good one halts
 * somewhere, how many devices a bad one reaches, and how long a good one takes. The seed is fixed.
 */
export async function simulateRollouts(report: Report): Promise<void> {
  const rules = await loadRules();
  const random = seeded(46);
  const run = (of: Omit<Fleet, "random">) => simulate(rules, { ...of, random });
  let [good, halted] = [0, 0];
  for (const { devices, organizations, runs } of fleets) {
    for (const kind of ["guard", "staged"] as const) {
      for (let at = 0; at < runs / 2; at++) {
        const { isHalted, haltedParts } = run({ devices, organizations, kind, failing: () => goodRate });
        good++;
        if (isHalted || haltedParts > 0) halted++;
      }
    }
  }
  report.atMost("halts of a release that fails on 0.5 %, in whole or in part", (100 * halted) / good, "% of runs", 1);

  let beyond = 0;
  const table: Record<string, string | number>[] = [];
  for (const rate of rates) {
    for (const { devices, organizations } of fleets) {
      const runs = Array.from({ length: devices > 5_000 ? 4 : runsPerRate }, (_, at) =>
        run({ devices, organizations, kind: at % 2 === 0 ? "guard" : "staged", failing: () => rate }),
      );
      const most = Math.max(...runs.map(({ offered }) => offered));
      if (rate === 1) beyond += runs.filter(({ offered }) => offered > allowed(devices)).length;
      table.push({ ...rowOf(runs), "fails on": `${rate * 100} %`, devices, organizations, "offered at most": most });
    }
  }
  console.table(table);
  // Bad on one system, or at one organization, alone.
  for (const { devices, organizations } of fleets.filter((fleet) => fleet.organizations > 1)) {
    const platform = run({ devices, organizations, kind: "guard", failing: (_, of) => (of === 0 ? 1 : 0) });
    const organization = run({ devices, organizations, kind: "guard", failing: (of) => (of === 0 ? 1 : 0) });
    for (const { failed } of [platform, organization]) if (failed > allowed(devices)) beyond++;
  }
  report.none({ "runs of a wholly bad release that reach 10 devices or more, and more than 1 %": beyond });

  const slowest = (devices: number, organizations: number) => {
    const runs = (["guard", "staged"] as const).flatMap((kind) =>
      Array.from({ length: devices > 5_000 ? 2 : 50 }, () => run({ devices, organizations, kind, failing: () => 0 })),
    );
    return Math.max(...runs.map(({ seconds }) => seconds));
  };
  report.atMost("a good release on 50,000 devices of 100 organizations", slowest(50_000, 100) / 3_600, "h", 5);
  report.atMost("a good release on 500 devices of 10 organizations", minutes(slowest(500, 10)), "min", 25);
  report.atMost("a good release on 40 devices of two organizations", minutes(slowest(40, 2)), "min", 15);
  if (report.figures.some(({ held }) => held === false)) process.exitCode = 1;
}

/** Fewer than ten devices, or one in a hundred. */
const allowed = (devices: number) => Math.max(9, devices / 100);

function rowOf(runs: readonly Outcome[]) {
  const share = (is: (outcome: Outcome) => boolean) => `${Math.round((100 * runs.filter(is).length) / runs.length)} %`;
  return { halts: share(({ isHalted }) => isHalted), "parts halt": share(({ haltedParts }) => haltedParts > 0) };
}

/** Marsaglia's xorshift of 32 bits. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}
