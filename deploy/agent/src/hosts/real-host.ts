import fs from "node:fs";
import { uptime } from "node:os";
import { join } from "node:path";
import type { AcceptedOffer, Component, Host, Offer, UpdateReport } from "@muster/agent";
import { version } from "../build-info.ts";
import type { Config } from "../config.ts";
import { linkTarget, readStored, textIn, writeDurably } from "../durable.ts";
import type { IdentityFile } from "../identity-file.ts";
import { hasRelease, nameRelease, proveRelease, pruneReleases, unverifiedFolder } from "../install/release-folder.ts";
import { endUpdate, readUpdate, restoreVersion, storeStep, swapVersions } from "../install/update-state.ts";
import type { Logger } from "../logger.ts";
import type { Paths } from "../paths.ts";
import { newStatus, noteHeartbeat, type Status, writeStatus } from "./host-status.ts";
import { systemLabels } from "./machine-facts.ts";
import { addresses, usageMeter } from "./usage.ts";

export type RealHost = Host & {
  /** Report of the update that the process before did not finish. */
  firstReport: UpdateReport | null;
  status: Status;
  storeStatus(): void;
  /** Ends an update of the watchdog that the process before had started. */
  finishWatchdog(): Promise<void>;
};

export type RealHostDeps = {
  config: Config;
  paths: Paths;
  file: IdentityFile;
  log: Logger;
  /** Lets the watchdog of a new version start, and returns whether it did. */
  replaceWatchdog(version: string): Promise<boolean>;
  random?: () => number;
  /** Milliseconds after its first accepted heartbeat after which a new version stays. */
  steadyMs?: number;
};

const steadyMsDefault = 15_000;
/** Time after the start of a machine in which an offer waits at random, and for how long at most. */
const bootMs = 60_000;

/** The machine that this process runs on. */
export function realHost(deps: RealHostDeps): RealHost {
  const { config, paths, file, log, replaceWatchdog, random = Math.random, steadyMs = steadyMsDefault } = deps;
  const { identity } = file;
  const usage = usageMeter(paths.stateFolder);
  const status = newStatus(paths);
  let isProved = false;

  const storeStatus = () => writeStatus(paths, status, log);

  /** The new version works, for good: its counter is stored, and older versions are removed. */
  const commit = (component: Component) => {
    const update = readUpdate(paths);
    if (update?.step !== "proving" || update.component !== component) return;
    identity.counters = { ...identity.counters, [component]: update.counter };
    file.save();
    endUpdate(paths);
    const links = Object.values(paths.links).flatMap(({ current, previous }) => [current, previous]);
    pruneReleases(paths, links.map(linkTarget));
    log("info", "updater", `${component} ${update.version} is installed`);
  };

  const prove = () => {
    if (isProved) return;
    isProved = true;
    const update = readUpdate(paths);
    if (update?.component !== "agent" || update.step !== "proving" || update.version !== version) return;
    writeDurably(paths.alive.agent, JSON.stringify({ version, pid: process.pid }));
    setTimeout(() => commit("agent"), steadyMs).unref();
  };

  const swap = (offer: Offer, { counter }: AcceptedOffer, target: string) => {
    const component = offer.component as "agent" | "watchdog";
    const previous = linkTarget(paths.links[component].current);
    if (previous === null) throw new Error(`not_updatable: the ${component} was not installed by an installer`);
    fs.rmSync(paths.alive[component], { force: true });
    const about = { component, version: offer.version.replace(/^v/, ""), target, previous, counter };
    return swapVersions(paths, storeStep(paths, { ...about, step: "swapping" }));
  };

  const watchdogReplaced = async (wanted: string) => {
    if (!(await replaceWatchdog(wanted))) return;
    identity.versions.watchdog = readStored<{ version: string }>(paths.alive.watchdog)?.version;
    commit("watchdog");
  };

  return {
    identity,
    status,
    storeStatus,
    save: file.save,
    firstReport: reportOf(paths),
    enrollmentKey: () => textIn(paths.enrollmentKey).split("\n")[0]?.trim() || null,
    labels: () => ({ ...systemLabels(), ...config.labels }),
    facts: () => ({ status: "ok", metrics: usage(), ipAddresses: addresses() }),
    now(serverMs) {
      const lastMs = Date.parse(status.serverTime ?? "");
      // Without any reply yet there is no offer either.
      return new Date(Math.max(serverMs, Number.isNaN(lastMs) ? 0 : lastMs));
    },
    accepted(reply, report) {
      noteHeartbeat(status, reply, log);
      storeStatus();
      if (report !== null && (report.state === "rolled_back" || report.state === "failed")) endReported(paths);
      prove();
    },
    downloadDelayMs: () => (uptime() * 1000 < bootMs ? random() * bootMs : 0),
    has: (offer, accepted) => hasRelease(paths, offer, accepted),
    async partOf(offer) {
      if (offer.component === "helper") throw new Error("not_updatable: there is no helper on this system");
      if (linkTarget(paths.links[offer.component].current) === null) {
        throw new Error(`not_updatable: the ${offer.component} was not installed by an installer`);
      }
      log("info", "updater", `${offer.component} ${offer.version} is offered: downloading`);
      return join(unverifiedFolder(paths, offer), "part");
    },
    prove: (offer, accepted, part) => proveRelease(offer, accepted, part),
    async install(offer, accepted, part) {
      const target = await nameRelease(paths, offer, accepted, part);
      const { component, version: wanted } = offer;
      swap(offer, accepted, target);
      log("info", "updater", `${component} ${wanted} is in place: restarting`);
      if (component === "agent") return { heartbeat: "never" };
      await watchdogReplaced(wanted);
      return { heartbeat: "at once", report: reportOf(paths) };
    },
    async finishWatchdog() {
      const update = readUpdate(paths);
      if (update?.component !== "watchdog" || update.step === "rolledBack") return;
      if (update.step === "swapping") swapVersions(paths, update);
      if (update.step === "restoring") restoreVersion(paths, update, "interrupted");
      else await watchdogReplaced(update.version);
      this.firstReport = reportOf(paths);
    },
  };
}

/** What the next heartbeat reports about an update that was undone. */
function reportOf(paths: Paths): UpdateReport | null {
  const update = readUpdate(paths);
  if (update?.step !== "rolledBack") return null;
  const { component, version: failed, error = "" } = update;
  return { component, version: failed, state: "rolled_back", error };
}

function endReported(paths: Paths): void {
  if (readUpdate(paths)?.step === "rolledBack") endUpdate(paths);
}
