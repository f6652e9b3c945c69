import { copyFile, mkdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { type AfterUpdate, type Component, type Host, type Offer, sizeOf, UpdateRefused } from "@muster/agent";
import type { Figures } from "./figures.ts";
import type { Identities, Identity } from "./identities.ts";
import type { SimOptions } from "./options.ts";
import { type Scenario, scenarioOf } from "./scenarios.ts";

export type MachineDeps = {
  identity: Identity;
  identities: Pick<Identities, "save">;
  options: SimOptions;
  figures: Figures;
  pause(ms: number): Promise<void>;
  random(): number;
};

const lockedTimes = 2;
const tenYearsMs = 10 * 365 * 86_400_000;
/** Wait of a watchdog before it restores the previous binary, in durations of a restart. */
const watchdogPatience = 5;

/**
 * A simulated machine: per component the files of the running binary, the previous one and the present download, and
 * updates that end as its scenario has it.
 */
export function simMachine(deps: MachineDeps): Host {
  const { identity, identities, options, figures, pause, random } = deps;
  const scenario: Scenario = scenarioOf(identity.n, options);
  const folder = join(`${options.stateFile}.files`, String(identity.n));
  const pathOf = (component: string, kind: "" | ".previous" | ".part" = "") => join(folder, component + kind);
  const restartMs = options.restartSeconds * 1000;
  let locked = 0;

  const runs = (component: Component, version: string) => {
    identity.versions[component] = version;
    identities.save(identity);
  };

  const replace = async (component: Component, part: string) => {
    const path = pathOf(component);
    if ((await sizeOf(path)) > 0) await copyFile(path, pathOf(component, ".previous"));
    // Removed first: a binary that runs cannot be written on Linux.
    await rm(path, { force: true });
    await rename(part, path);
  };

  const restore = async (component: Component, version: string) => {
    await rm(pathOf(component), { force: true });
    await rename(pathOf(component, ".previous"), pathOf(component)).catch((error: NodeJS.ErrnoException) => {
      // The first binary was never downloaded here.
      if (error.code !== "ENOENT") throw error;
    });
    runs(component, version);
  };

  /** How the restart into the new version goes. */
  const restart = async ({ component, version }: Offer, counter: number): Promise<AfterUpdate> => {
    const before = identity.versions[component] ?? options.agentVersion;
    const rolledBack = { component, version, state: "rolled_back" };
    await pause(restartMs);
    switch (scenario) {
      case "silent":
        return { heartbeat: "never" };
      case "rolls-back":
        await restore(component, before);
        return { heartbeat: "at once", report: rolledBack };
      case "watchdog":
        await pause(watchdogPatience * restartMs);
        await restore(component, before);
        return { heartbeat: "at once", report: { ...rolledBack, error: "restored by the watchdog" } };
      case "old-version":
        runs(component, "0.0.1");
        return { heartbeat: "at once", report: null };
      case "crash-loop":
        runs(component, version);
        return { heartbeat: "at once", report: null, revert: () => restore(component, before) };
      default:
        identity.counters = { ...identity.counters, [component]: counter };
        runs(component, version);
        return { heartbeat: "at once", report: null };
    }
  };

  return {
    identity,
    save: () => identities.save(identity),
    enrollmentKey: () => options.enrollmentKey,
    facts: () => ({
      status: "ok",
      metrics: { "cpu.percent": Math.round(random() * 100), "memory.percent": Math.round(40 + random() * 40) },
    }),
    now: () => new Date(Date.now() + (scenario === "wrong-clock" ? tenYearsMs : 0)),
    async partOf({ component }) {
      await mkdir(folder, { recursive: true });
      return pathOf(component, ".part");
    },
    async prove(_offer, _accepted, part) {
      if (scenario !== "bad-download") return;
      await rm(part, { force: true });
      throw new UpdateRefused("bad_digest", "the bytes are not those of the release");
    },
    async install(offer, { counter }, part) {
      const { component, version } = offer;
      if (scenario === "always-locked" || (scenario === "locked" && locked++ < lockedTimes)) {
        figures.count("updates locked");
        return { heartbeat: "next time", report: { component, version, state: "locked" } };
      }
      await replace(component, part);
      const after = await restart(offer, counter);
      figures.count(identity.versions[component] === version ? "updates installed" : "updates undone");
      return after;
    },
  };
}
