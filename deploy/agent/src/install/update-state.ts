import fs from "node:fs";
import type { Component } from "@muster/agent";
import { linkTarget, readStored, swapLink, syncFolder, writeDurably } from "../durable.ts";
import type { Paths } from "../paths.ts";

/**
 * Steps of an update, stored before they are entered. What a start does with a stored step:
 *
 *     swapping     sets the links again, then proving     the links may be old, new, or one of each
 *     proving      waits until the version works          accepted: the file is removed; else restoring
 *     restoring    sets the links back, then rolledBack
 *     rolledBack   the next heartbeat reports it          accepted: the file is removed
 */
export const steps = ["swapping", "proving", "restoring", "rolledBack"] as const;

export type Step = (typeof steps)[number];

export type Update = {
  step: Step;
  component: Exclude<Component, "helper">;
  version: string;
  /** Folders of the new and of the previous version, relative as the links hold them. */
  target: string;
  previous: string;
  counter: number;
  /** Why it was rolled back. */
  error?: string;
  /** How many times it was stored: beyond the limit a loop is ended by restoring. */
  stores: number;
};

const storesMax = 20;
const targetForm = /^versions[\\/][\w.-]+$/;

/** The update in progress; null when there is none, or its file is damaged. */
export function readUpdate(paths: Paths): Update | null {
  const update = readStored<Update>(paths.update);
  if (update === null) return null;
  const { step, component, target, previous } = update;
  const isAllowed = steps.includes(step) && (component === "agent" || component === "watchdog");
  // A link to anywhere else would start a program that nobody proved.
  return isAllowed && targetForm.test(target) && targetForm.test(previous) ? update : null;
}

/** Stores a step. Returns the update as it is stored: after too many steps it goes back. */
export function storeStep(paths: Paths, update: Omit<Update, "stores"> & { stores?: number }): Update {
  const stores = (update.stores ?? 0) + 1;
  const isLoop = stores > storesMax && (update.step === "swapping" || update.step === "proving");
  const stored: Update = isLoop
    ? { ...update, stores, step: "restoring", error: "the update did not end" }
    : { ...update, stores };
  writeDurably(paths.update, JSON.stringify(stored));
  return stored;
}

/** Ends an update: it works, or its failure was reported. */
export function endUpdate(paths: Paths): void {
  fs.rmSync(paths.update, { force: true });
  syncFolder(paths.stateFolder);
}

/** Makes the new version the current one, whatever was done of it before. Returns the stored step. */
export function swapVersions(paths: Paths, update: Update): Update {
  const { current, previous } = paths.links[update.component];
  if (linkTarget(previous) !== update.previous) swapLink(previous, update.previous);
  if (linkTarget(current) !== update.target) swapLink(current, update.target);
  return storeStep(paths, { ...update, step: "proving" });
}

/**
 * Makes the previous version the current one again. A disk that stores no step does not stop it: the links are what
 * counts.
 */
export function restoreVersion(paths: Paths, update: Update, error: string): Update {
  const why = update.error ?? error;
  let stored: Update = { ...update, step: "restoring", error: why };
  try {
    stored = storeStep(paths, stored);
  } catch {
    // Stored below, or by the next start.
  }
  const { current } = paths.links[update.component];
  if (linkTarget(current) !== update.previous) swapLink(current, update.previous);
  const rolledBack: Update = { ...stored, step: "rolledBack" };
  try {
    return storeStep(paths, rolledBack);
  } catch {
    return rolledBack;
  }
}
