import { appendFileSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { createStopping, type Stopping } from "@muster/agent";
import { until } from "@muster/testing";
import { linkTarget } from "../durable.ts";
import { holderOf } from "../folder-lock.ts";
import { programName } from "../paths.ts";
import { type Installation, newInstallation, saying } from "../testing/installation.ts";
import { supervise } from "./supervise.ts";
import { readUpdate, storeStep, swapVersions } from "./update-state.ts";

let at: Installation;
let stopping: Stopping;
let said: string[];
let running: Promise<number>;
beforeEach(() => {
  at = newInstallation();
  [stopping, said] = [createStopping(), []];
});
afterEach(async () => {
  stopping.stop();
  await running;
  at.remove();
});

/** A program that notes each start in a file, and then does this. */
const noting = (version: string, then: string) =>
  saying(version, `root=$(cd "$(dirname "$0")/.." && pwd)\necho ${version} >> "$root/starts"\n${then}`);
const runsOn = "exec sleep 1000";
const accepted = (version: string) => `echo '{"version":"${version}"}' > "$root/state/alive.json"\n${runsOn}`;
const starts = () => {
  try {
    return readFileSync(join(at.folder, "starts"), "utf8").trim().split("\n");
  } catch {
    return [];
  }
};
const watch = (proofMs = 60_000) => {
  running = supervise({ paths: at.paths, log: (_level, _component, text) => said.push(text), proofMs, stopping });
};
/** An update from 1.0.0 that was swapped a moment ago. */
function updated(script: string): { old: string; next: string } {
  const [old, next] = [at.addVersion("1.0.0", noting("1.0.0", runsOn)), at.addVersion("1.1.0", script)];
  at.link(old);
  const update = { component: "agent" as const, version: "1.1.0", target: next, previous: old, counter: 4 };
  swapVersions(at.paths, storeStep(at.paths, { ...update, step: "swapping" }));
  return { old, next };
}
const current = () => linkTarget(at.paths.links.agent.current);
const rolledBack = () => until("the previous version", () => readUpdate(at.paths)?.step === "rolledBack");

describe("the watchdog", () => {
  it("starts the agent, again after it ended, and ends it with itself", async () => {
    at.link(at.addVersion("1.0.0", noting("1.0.0", "exit 3")));
    watch();
    await until("two starts", () => starts().length === 2);
    stopping.stop();
    expect(await running).toBe(0);
  });

  it("waits longer each time while a refused key stays, and no more once there is another", async () => {
    at.link(at.addVersion("1.0.0", noting("1.0.0", "exit 5")));
    writeFileSync(at.paths.enrollmentKey, "refused");
    watch();
    const startedMs = performance.now();
    await until("three starts", () => starts().length === 3, 30_000);
    // Two and four seconds; a busy loop takes none.
    expect(performance.now() - startedMs).toBeGreaterThan(5_000);
    rmSync(at.paths.enrollmentKey);
    writeFileSync(at.paths.enrollmentKey, "another");
    const anotherMs = performance.now();
    await until("another start", () => starts().length === 4);
    expect(performance.now() - anotherMs).toBeLessThan(6_000);
  });

  it.each<[string, string, number, string]>([
    ["ends at once", "exit 1", 60_000, "ended 3 times (1)"],
    ["hangs", runsOn, 500, "no heartbeat accepted within 0.5 s"],
    [
      "ends after its first heartbeat",
      `echo '{"version":"1.1.0"}' > "$root/state/alive.json"\nexit 1`,
      60_000,
      "ended 3 times (1)",
    ],
  ])("goes back from a version that %s", async (_name, then, proofMs, error) => {
    const { old } = updated(noting("1.1.0", then));
    watch(proofMs);
    await rolledBack();
    expect(current()).toBe(old);
    expect(readUpdate(at.paths)).toMatchObject({ version: "1.1.0", error });
    await until("the old version", () => starts().at(-1) === "1.0.0");
  });

  it("goes back from a version that is no program", async () => {
    const { old } = updated("no program");
    watch();
    await rolledBack();
    expect(current()).toBe(old);
  });

  it("keeps a version with an accepted heartbeat beyond the time of the proof", async () => {
    const { next } = updated(noting("1.1.0", accepted("1.1.0")));
    watch(400);
    await until("its start", () => starts().includes("1.1.0"));
    await stopping.pause(1_000);
    expect([current(), readUpdate(at.paths)?.step]).toEqual([next, "proving"]);
  });

  it("starts the previous version instead of one that was damaged on the disk, and has it reported", async () => {
    const [old, next] = [
      at.addVersion("1.0.0", noting("1.0.0", runsOn)),
      at.addVersion("1.1.0", noting("1.1.0", runsOn)),
    ];
    at.link(next, old);
    appendFileSync(join(at.folder, next, programName), "#");
    watch();
    await until("the old version", () => starts().at(-1) === "1.0.0");
    expect(readUpdate(at.paths)).toMatchObject({ step: "rolledBack", version: "1.1.0" });
  });

  it("continues a swap and a restoration that were interrupted", async () => {
    const { old } = updated(noting("1.1.0", runsOn));
    const update = readUpdate(at.paths);
    if (!update) throw new Error("no update");
    storeStep(at.paths, { ...update, step: "restoring", error: "it hangs" });
    watch();
    await rolledBack();
    expect(current()).toBe(old);
  });

  it("takes over the agent of the watchdog before it", async () => {
    at.link(
      at.addVersion(
        "1.0.0",
        noting("1.0.0", `echo "$$ $(cut -d' ' -f22 /proc/$$/stat)" > "$root/state/agent.lock"\n${runsOn}`),
      ),
    );
    watch();
    await until("its lock", () => starts().length === 1 && holderOf(at.paths.agentLock) !== null);
    writeFileSync(at.paths.watchdogLock, "");
    const second = createStopping();
    const taken = supervise({ paths: at.paths, log: () => {}, stopping: second });
    await second.pause(600);
    second.stop();
    await taken;
    // It was not started twice, and ended by the second watchdog.
    expect(starts()).toEqual(["1.0.0"]);
  });
});
