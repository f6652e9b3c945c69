import { testsOf } from "./tests.mjs";

/** A test file without a mutant, which may start servers. */
const baselineMs = 120_000;
/** With a mutant, which may be endless. */
const limitMs = (ms) => 6_000 + 10 * ms;

/** Runs tests for mutants: each file is first run without one, which tells whether it passes and what it reaches. */
export class Examination {
  #baselines = new Map();
  /** Called with each test file that fails without a mutant, and why: it would find everything. */
  #leftOut;

  constructor(leftOut) {
    this.#leftOut = leftOut;
  }

  /**
   * Resolves to what finds a mutant: `test`, `time` (it makes a test endless) or `crash`; else to `unreached` (no test
   * runs its expression) or `passed`.
   */
  async examine(mutant, worker) {
    let isRun = false;
    for (const group of testsOf(mutant.file)) {
      const reaching = await this.#reaching(mutant, group, worker);
      for (const { test, ms } of reaching.sort((a, b) => a.ms - b.ms)) {
        isRun = true;
        const { passed, ended = "test" } = await this.#run(test, mutant, ms, worker);
        if (!passed) return ended;
      }
    }
    return isRun ? "passed" : "unreached";
  }

  /** Runs a test with a mutant, and once more when it takes too long on a machine that has become slower. */
  async #run(test, { id }, ms, worker) {
    const reply = await worker.ask(test, id, limitMs(ms));
    if (reply.ended !== "time") return reply;
    const without = await worker.ask(test, null, baselineMs);
    return without.ms > 1.5 * ms ? worker.ask(test, id, limitMs(without.ms)) : reply;
  }

  /** The first tests of a group that run a mutant's expression, with how long they take. */
  async #reaching({ id }, { tests, most }, worker) {
    const found = [];
    for (const test of tests) {
      if (found.length === most) break;
      const { ms, ran } = await this.#baselineOf(test, worker);
      if (ran.has(id)) found.push({ test, ms });
    }
    return found;
  }

  #baselineOf(test, worker) {
    const cached = this.#baselines.get(test);
    if (cached !== undefined) return cached;
    const baseline = this.#runWithout(test, worker);
    this.#baselines.set(test, baseline);
    return baseline;
  }

  async #runWithout(test, worker) {
    let reply = await worker.ask(test, null, baselineMs);
    if (!reply.passed) {
      // Not because of what a mutant left in this process.
      worker.stop();
      reply = await worker.ask(test, null, baselineMs);
    }
    if (!reply.passed) {
      this.#leftOut(test, reply.problem ?? reply.ended);
      return { ms: 0, ran: new Set() };
    }
    return { ms: reply.ms, ran: new Set(reply.ran) };
  }
}
