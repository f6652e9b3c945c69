import type { Rule as RuleNumber } from "@muster/proto/muster/release/v1/update_pb";
import { isIneligible } from "./attempt.ts";
import { type Component, components, platformOf } from "./component.ts";
import { type Device, haltOf, hasExpired, type PlannedRelease, type PlannedRollout, stoppedBy } from "./plan.ts";
import { sentenceOf as lowerCounter } from "./release-trust.ts";
import { type RollbackNote, refusalOfNote } from "./rollback-note.ts";
import { windowOf } from "./settings.ts";
import { type Exclusion, type Found, findTarget, pinOf, type TargetInput, type TargetSource } from "./target.ts";
import { compareVersions, isPrerelease, parseVersion } from "./version.ts";
import { windowAt } from "./window.ts";

export type PastAttempt = {
  component: Component;
  releaseId: string;
  state: string;
  /** Null while it is open. */
  endedAt: Date | null;
};

/** By the names that clients see. */
export type Rule = Lowercase<Exclude<keyof typeof RuleNumber, "UNSPECIFIED">>;

export type Decision = {
  component: Component;
  current: string | null;
  target: PlannedRelease | null;
  targetSource: TargetSource | null;
  rule: Rule;
  detail: string;
  rollout: PlannedRollout | null;
  /** To what the component is to come in the end, whatever the rule permits now. */
  destination: PlannedRelease | null;
  /** Time from which another check may have a different result although nothing was changed. */
  recheckAt: Date;
};

export type GateInput = TargetInput & {
  attempts: readonly PastAttempt[];
  /** An update of this device was requested: policy and window do not apply. */
  requested: boolean;
  /** Waits after the first, second … failure of a release on a device; the last one from then on. */
  backOffMs: readonly number[];
  /** What permits the device to go back to its pinned version; null: nothing does. */
  rollback?: RollbackNote | null;
};

export const recheckMaxMs = 15 * 60_000;
/** Until a device is checked again whose rollout has no room. */
export const fullBudgetMs = 5_000;

/** What each component of a device is to do, and the rule that decided it. Unknowns are never an offer. */
export function decide(input: GateInput): Decision[] {
  let taken = input.attempts.some(({ endedAt }) => endedAt === null);
  return components.map((component) => {
    const decision = decideComponent(input, component, taken);
    if (decision.rule === "offered") taken = true;
    return decision;
  });
}

/** The decision about one component; `taken` when another component updates or is offered. */
export function decideComponent(input: GateInput, component: Component, taken: boolean): Decision {
  const { device, merged, catalogue, attempts, requested, now } = input;
  const { found, exclusion } = findTarget(input, component);
  const destination = found?.release ?? null;
  const current = device.versions[component];
  const later = (ms: number) => new Date(now.getTime() + Math.min(ms, recheckMaxMs));
  const said = (rule: Rule, detail: string, found: Partial<Found> = {}, recheckAt = later(recheckMaxMs)): Decision => ({
    component,
    current,
    target: found.release ?? null,
    targetSource: found.source ?? null,
    rule,
    detail,
    rollout: found.rollout ?? null,
    destination,
    recheckAt,
  });
  // A held device is shown the version that it is held back from.
  const held = (rule: Rule, detail: string) => said(rule, detail, found ?? {});
  if (isIneligible(device.status)) {
    return held("not_eligible", `The device is ${device.status}`);
  }
  if (current === null || current === "")
    return said("not_reported", `The agent reports no version of the ${component}`);
  if (!device.autoUpdateEnabled) return held("auto_update_off", "Automatic updates of this device are turned off");
  if (merged.settings.updatePolicy === "manual" && !requested) {
    return held("policy_manual", "The update policy is manual: updates begin when they are requested");
  }
  const excluded = () =>
    exclusion ? said(exclusion.rule, sentenceOf(exclusion, device), { ...exclusion, source: "rollout" }) : null;
  if (!found) return excluded() ?? said("no_target", missingTarget(input, component));
  const running = parseVersion(current);
  if (running === null) return said("current_unparsable", `"${current}" is not a semantic version`, found);
  const order = compareVersions(running, found.release.version);
  const seen = releaseOf(catalogue[component].releases, running);
  const goesBack = order > 0 && mayGoBack(input, component, found, seen);
  if (order >= 0 && !goesBack) {
    // The promoted release is installed already: the reason against the newer one is more informative.
    const isNewer = exclusion !== null && compareVersions(running, exclusion.release.version) < 0;
    const [rule, detail] =
      order > 0
        ? (["ahead_of_target", `Runs ${running}, newer than its target`] as const)
        : (["up_to_date", `Runs ${running}`] as const);
    return (isNewer ? excluded() : null) ?? said(rule, detail, found);
  }
  const untrusted = found.release.untrusted ?? (goesBack ? null : refusedAfter(seen, found.release));
  if (untrusted !== null) return said("release_untrusted", `${found.release.version} ${untrusted}`, found);
  const platform = platformOf(device);
  if (!found.release.platforms.has(platform)) {
    return said("no_artifact", `${found.release.version} has no file for ${platform}`, found);
  }
  const step = goesBack ? found : stepBefore(catalogue[component].releases, found, { running, platform, now });
  if (step === null) {
    return said("below_minimum", `${found.release.version} needs ${found.release.minimumVersion} first`, found);
  }
  const { open, nextOpening } = windowAt(windowOf(merged.settings), now);
  if (!open && !requested) {
    const opens = nextOpening ? nextOpening.getTime() - now.getTime() : recheckMaxMs;
    return said("window_closed", `The window opens ${nextOpening?.toISOString() ?? "never"}`, step, later(opens));
  }
  const stopped = stoppedBy(step.release, now);
  if (stopped !== null) return said("halted", stopped, step);
  const halt = haltOf(step.rollout, device);
  if (halt !== null) return said("halted", `The rollout of ${step.release.version} is ${halt}`, step);
  const until = backOffUntil(attempts, component, step.release.id, input.backOffMs);
  if (until !== null && until > now) {
    return said(
      "back_off",
      `Failed before: tried again ${until.toISOString()}`,
      step,
      later(until.getTime() - now.getTime()),
    );
  }
  if (taken) return said("in_progress", "Another update of the device is in progress", step, now);
  if (step.rollout.budget !== null && step.rollout.budget <= 0) {
    return said("in_flight_cap", "As many devices update as may at a time", step, later(fullBudgetMs));
  }
  return said("offered", `${step.release.version} is offered`, step, now);
}

function sentenceOf({ rule, release, rollout }: Exclusion, device: Device): string {
  if (rule === "not_in_ring") return `No open ring of the rollout of ${release.version} includes the device`;
  if (rule === "not_in_bucket") return `The device is not among the ${rollout.percent} % that get ${release.version}`;
  return `The rollout of ${release.version} is ${haltOf(rollout, device) ?? rollout.state}`;
}

/** Why there is nothing to install: a pin wins over what is promoted, also one to a version that is not registered. */
function missingTarget({ merged }: GateInput, component: Component): string {
  const pin = pinOf(merged, component);
  return pin === null
    ? "No version is promoted or pinned"
    : `Its ${pin.source} pins ${pin.version}, which is not registered`;
}

/** Whether a rollback note permits the device to install the older version of its pin or its rollout. */
function mayGoBack(
  { device, rollback, now }: GateInput,
  component: Component,
  { release, source, rollout }: Found,
  seen: PlannedRelease | null,
): boolean {
  const isPinned = source === "organization" || source === "partner";
  const note = source === "rollout" ? rollout.rollback : isPinned ? rollback : null;
  if (!note) return false;
  const of = { component, version: release.version, orgId: device.orgId, now };
  return refusalOfNote(note, of) === null && note.counter >= (seen?.counter ?? 0);
}

function releaseOf(releases: readonly PlannedRelease[], version: string): PlannedRelease | null {
  return releases.find((release) => release.version === version) ?? null;
}

/** Why a device that runs `seen` refuses the release; null when it does not. */
function refusedAfter(seen: PlannedRelease | null, { counter }: PlannedRelease): string | null {
  return seen !== null && seen.counter > counter ? lowerCounter(counter, seen) : null;
}

/** The target itself, or the newest intermediate release that the device may install; null when there is none. */
function stepBefore(
  releases: readonly PlannedRelease[],
  found: Found,
  { running, platform, now }: { running: string; platform: string; now: Date },
): Found | null {
  const mayTake = ({ minimumVersion }: PlannedRelease) =>
    minimumVersion === null || compareVersions(running, minimumVersion) >= 0;
  if (mayTake(found.release)) return found;
  const step = releases.find(
    (release) =>
      compareVersions(release.version, found.release.version) < 0 &&
      compareVersions(release.version, running) > 0 &&
      !release.yanked &&
      release.untrusted === null &&
      refusedAfter(releaseOf(releases, running), release) === null &&
      !hasExpired(release, now) &&
      !isPrerelease(release.version) &&
      release.platforms.has(platform) &&
      mayTake(release),
  );
  return step ? { release: step, rollout: step.guard, source: "minimum" } : null;
}

/** Until when this release is not offered to the device again, by its failures there; null without one. */
export function backOffUntil(
  attempts: readonly PastAttempt[],
  component: Component,
  releaseId: string,
  backOffMs: readonly number[],
): Date | null {
  const failed = attempts.filter(
    (attempt) => attempt.component === component && attempt.releaseId === releaseId && attempt.state === "failed",
  );
  if (failed.length === 0) return null;
  const last = Math.max(...failed.map(({ endedAt }) => endedAt?.getTime() ?? 0));
  return new Date(last + (backOffMs[Math.min(failed.length, backOffMs.length) - 1] ?? 0));
}
