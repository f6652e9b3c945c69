import { join } from "node:path";
import { followRoots, type NoteVerifier, parseVerifier, type TrustedRoot } from "@muster/kit";
import type { Api } from "./api.ts";
import { type Binaries, createBinaries } from "./binaries.ts";
import type { Figures } from "./figures.ts";
import type { Identities, Identity } from "./identities.ts";
import type { SimOptions } from "./options.ts";
import { scenarioOf } from "./scenarios.ts";
import type { Stopping } from "./stopping.ts";
import { type Component, checkOffer, type Offer, UpdateRefused } from "./update-offer.ts";

/** What the next heartbeat reports about the update. */
export type UpdateReport = { component: Component; version: string; state: string; error?: string };

/** How an agent continues after an update. */
export type AfterUpdate =
  /** Heartbeats at once, or with its next one; `revert` puts the version before back after that. */
  | { nextHeartbeat: "at once" | "next time"; report: UpdateReport | null; revert?: () => Promise<void> }
  | { nextHeartbeat: "never" };

export type Updater = {
  /** Carries out an offer as the device's scenario has it. Never throws. */
  take(offer: Offer): Promise<AfterUpdate>;
  /** The agent is down: it does not heartbeat. */
  readonly isRestarting: boolean;
};

const lockedTimes = 2;
const tenYearsMs = 10 * 365 * 86_400_000;
/** Wait of a watchdog before it restores the previous binary, in durations of a restart. */
const watchdogPatience = 5;

/** The updates of one simulated agent: what it runs, trusts and has seen is stored in its identity. */
export function createUpdater(deps: {
  api: Pick<Api, "download">;
  identity: Identity;
  identities: Pick<Identities, "save">;
  options: SimOptions;
  stopping: Stopping;
  figures: Figures;
  backoffMs(attempt: number, retryAfterMs: number | null): number;
}): Updater {
  const { api, identity, identities, options, stopping, figures, backoffMs } = deps;
  const scenario = scenarioOf(identity.n, options);
  const pinned: TrustedRoot = { number: options.releaseRoot, keys: options.releaseKeys.map(parseVerifier) };
  const binaries: Binaries = createBinaries({
    api,
    folder: join(`${options.stateFile}.files`, String(identity.n)),
    pause: stopping.pause,
    backoffMs,
    corrupts: scenario === "bad-download",
  });
  let locked = 0;
  let isRestarting = false;

  const runs = (component: Component, version: string) => {
    identity.versions[component] = version;
    identities.save(identity);
  };

  /** Keys that the pinned ones lead to by the root notes that came along; what was learned is kept. */
  const trusted = (offer: Offer): readonly NoteVerifier[] => {
    if (pinned.keys.length === 0) return [];
    const learned = identity.root;
    const root: TrustedRoot =
      learned && learned.number > pinned.number ? { ...learned, keys: learned.keys.map(parseVerifier) } : pinned;
    const found = followRoots(root, offer.rootNotes);
    if (found.number > root.number) {
      identity.root = { number: found.number, keys: found.keys.map(({ text }) => text) };
      identities.save(identity);
    }
    return found.keys;
  };

  const prepare = async (offer: Offer): Promise<number> => {
    const now = new Date(Date.now() + (scenario === "wrong-clock" ? tenYearsMs : 0));
    const { os, arch } = identity;
    const counter = identity.counters?.[offer.component] ?? 0;
    const next = checkOffer(offer, { keys: trusted(offer), os, arch, counter, now });
    await binaries.download(offer);
    return next;
  };

  const install = async (offer: Offer, counter: number): Promise<AfterUpdate> => {
    const { component, version } = offer;
    const before = identity.versions[component];
    const says = (state: string): UpdateReport => ({ component, version, state });
    const restartMs = options.restartSeconds * 1000;
    const putBack = async () => {
      await binaries.restore(component);
      runs(component, before ?? options.agentVersion);
    };
    await binaries.install(component);
    // Only the agent's own restart silences it.
    isRestarting = component === "agent";
    await stopping.pause(restartMs);
    switch (scenario) {
      case "silent":
        return { nextHeartbeat: "never" };
      case "rolls-back":
        await putBack();
        return { nextHeartbeat: "at once", report: says("rolled_back") };
      case "watchdog":
        await stopping.pause(watchdogPatience * restartMs);
        await putBack();
        return { nextHeartbeat: "at once", report: { ...says("rolled_back"), error: "restored by the watchdog" } };
      case "old-version":
        runs(component, "0.0.1");
        return { nextHeartbeat: "at once", report: null };
      case "crash-loop":
        runs(component, version);
        return { nextHeartbeat: "at once", report: null, revert: putBack };
      default:
        identity.counters = { ...identity.counters, [component]: counter };
        runs(component, version);
        return { nextHeartbeat: "at once", report: null };
    }
  };

  return {
    async take(offer) {
      const { component, version } = offer;
      figures.count("updates offered");
      try {
        const counter = await prepare(offer);
        if (scenario === "always-locked" || (scenario === "locked" && locked++ < lockedTimes)) {
          figures.count("updates locked");
          return { nextHeartbeat: "next time", report: { component, version, state: "locked" } };
        }
        const after = await install(offer, counter);
        figures.count(identity.versions[component] === version ? "updates installed" : "updates undone");
        return after;
      } catch (error) {
        const [reason, message] =
          error instanceof UpdateRefused ? [error.reason, error.message] : ["failed", (error as Error).message];
        figures.count(`updates ${reason}`);
        const report = { component, version, state: "failed", error: reason };
        if (scenario === "quiet") return { nextHeartbeat: "next time", report: null };
        return {
          nextHeartbeat: "at once",
          report: reason === "failed" ? { ...report, error: message.slice(0, 500) } : report,
        };
      } finally {
        isRestarting = false;
      }
    },
    get isRestarting() {
      return isRestarting;
    },
  };
}
