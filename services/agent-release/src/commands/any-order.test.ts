import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { sql } from "@muster/db";
import fc from "fast-check";
import { asItself } from "../emits/audit.ts";
import { endDueOnce } from "../jobs/end-attempts.ts";
import { startRelease, type TestRelease } from "../testing/release.ts";

let service: TestRelease;
beforeAll(async () => {
  service = await startRelease();
});
afterAll(() => service?.stop());

const fleetSize = 6;
const limits = { maxInFlight: 4, haltFailures: 2, soakSeconds: 60 };
/** Where a state may lead; an update that failed has succeeded when its device returns after all. */
const legal: Record<string, readonly string[]> = {
  offered: ["returned", "succeeded", "failed", "cancelled", "deferred"],
  returned: ["succeeded", "failed", "cancelled"],
  failed: ["succeeded"],
  succeeded: [],
  cancelled: [],
  deferred: [],
};

type Step = {
  device: number;
  does: "old" | "target" | "older" | "newer" | "off" | "failed" | "locked" | "undone" | "silence";
};
const step = fc.record<Step>({
  device: fc.nat({ max: fleetSize - 1 }),
  does: fc.constantFrom(
    "old",
    "old",
    "target",
    "target",
    "older",
    "newer",
    "off",
    "failed",
    "locked",
    "undone",
    "silence",
  ),
});

type Row = { id: string; state: string; open: boolean };
const attemptsOf = (version: string) =>
  service.deps.db.read<Row>(
    asItself(),
    sql`SELECT id, state, ended_at IS NULL AS open FROM update_attempt WHERE version = ${version}`,
  );
/** Two minutes without a word from anybody: what soaks has soaked, what was offered is overdue after three of them. */
async function silence(): Promise<void> {
  const by = sql`interval '120 seconds'`;
  await service.execute(sql`
    UPDATE update_attempt SET offered_at = offered_at - ${by}, deadline = deadline - ${by}, returned_at = returned_at - ${by}
    WHERE ended_at IS NULL`);
  await service.execute(sql`UPDATE update_watch SET heard_at = clock_timestamp()`);
  await endDueOnce(service.deps);
}

describe("updates of a fleet, whatever its devices say in whatever order", () => {
  it("move by legal steps alone, are counted as they are, and fail less than twice as often as they may", async () => {
    let last = 0;
    const walk = async (steps: readonly Step[]) => {
      const version = `1.${++last}.0`;
      await service.release(version, limits);
      const fleet = Array.from({ length: fleetSize }, () => service.question({ agent: "1.0.0" }));
      const says: Record<string, (at: number) => Promise<unknown>> = Object.fromEntries(
        [
          ["old", "1.0.0", {}, null],
          ["target", version, {}, null],
          ["older", "0.9.0", {}, null],
          ["newer", "99.0.0", {}, null],
          ["off", "1.0.0", { autoUpdateEnabled: false }, null],
          ["failed", "1.0.0", {}, "failed"],
          ["locked", "1.0.0", {}, "locked"],
          ["undone", "1.0.0", {}, "rolled_back"],
        ].map(([name, agent, change, state]) => [
          name,
          (at: number) => {
            const { device } = fleet[at] as (typeof fleet)[number];
            const versions = { agent: String(agent), watchdog: null, helper: null };
            const report = state === null ? null : { component: "agent", version, state: String(state), error: "" };
            return service.decide({ device: { ...device, ...(change as object), versions }, report });
          },
        ]),
      );
      const before = new Map<string, string>();
      for (const { device, does } of steps) {
        await (says[does]?.(device) ?? silence());
        const attempts = await attemptsOf(version);
        for (const { id, state } of attempts) {
          const was = before.get(id) ?? "offered";
          if (was !== state) expect([was, legal[was]]).toEqual([was, expect.arrayContaining([state])]);
          before.set(id, state);
        }
        const count = (state: string) => attempts.filter((each) => each.state === state).length;
        const open = attempts.filter((each) => each.open).length;
        const rollout = await service.rollout(version);
        expect(rollout).toMatchObject({ in_flight: open, succeeded: count("succeeded"), failed: count("failed") });
        expect(open).toBeLessThanOrEqual(limits.maxInFlight);
        expect(count("failed")).toBeLessThan(2 * limits.haltFailures);
        if (count("failed") > limits.haltFailures) expect(rollout?.state).toBe("halted");
      }
    };
    await fc.assert(fc.asyncProperty(fc.array(step, { minLength: 25, maxLength: 40 }), walk), { numRuns: 8 });
  }, 60_000);
});
