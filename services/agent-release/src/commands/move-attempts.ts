import type { Tx } from "@muster/db";
import type { Logger } from "@muster/kit";
import { deviceStop, hasStarted, lateReturnMs, moveAttempt } from "../rules/attempt.ts";
import type { Component } from "../rules/component.ts";
import type { Device } from "../rules/plan.ts";
import { parseVersion } from "../rules/version.ts";
import {
  type AttemptRow,
  type DecidingAttempt,
  endAttempts,
  lockOpen,
  markReturned,
  markStarted,
  recordProgress,
} from "../store/attempts.ts";
import { clocksOf } from "../store/rollouts.ts";
import { countOutcomes, type Outcome } from "./count-outcomes.ts";

/** An agent's report about its update. */
export type Report = { component: Component; version: string; state: string; error: string; bytesDone?: bigint };

/** Heartbeats that a device may miss while it soaks. */
export const missedMax = 3;

type MoveDeps = {
  log: Logger;
  heartbeatIntervalSeconds: number;
  timeoutSeconds: number;
  /** Seconds after an offer beyond which no progress extends its time. */
  progressMaxSeconds: number;
};

/**
 * Moves open attempts by their devices' reports, and turns failed and withdrawn ones into successes when their device
 * returned later.
 */
export async function moveAttempts(
  tx: Tx,
  deps: MoveDeps,
  questions: readonly { device: Device; report: Report | null }[],
  byDevice: Map<string, DecidingAttempt[]>,
  now: Date,
): Promise<void> {
  const candidates = questions.flatMap(({ device }) =>
    (byDevice.get(device.id) ?? []).filter((row) => row.ended_at === null || hasReturnedLate(row, device, now)),
  );
  if (candidates.length === 0) return;
  const ids = candidates.map(({ id }) => id);
  const locked = new Map((await lockOpen(tx, ids)).map((row) => [row.id, row]));
  const clocks = await clocksOf(tx, [...new Set([...locked.values()].map(({ rollout_id: id }) => id))]);
  const moves = new Moves(tx, deps, now);
  for (const { device, report } of questions) {
    const attempts = byDevice.get(device.id) ?? [];
    for (const [index, row] of attempts.entries()) {
      const open = locked.get(row.id);
      if (!open) continue;
      const clock = clocks.get(open.rollout_id) ?? { soakSeconds: 0, isPaused: false };
      attempts[index] = await moves.move({ ...row, ...open }, { device, report, attempts, clock });
    }
    byDevice.set(device.id, attempts);
  }
  await moves.store();
}

interface Question {
  device: Device;
  report: Report | null;
  /** All attempts of the device. */
  attempts: readonly DecidingAttempt[];
  clock: { soakSeconds: number; isPaused: boolean };
}

/** The moves of one transaction: each attempt by itself, stored together. */
class Moves {
  readonly #outcomes: Outcome[] = [];
  readonly #started: string[] = [];
  readonly #progress: { id: string; bytes: number }[] = [];
  readonly #tx: Tx;
  readonly #deps: MoveDeps;
  readonly #now: Date;

  constructor(tx: Tx, deps: MoveDeps, now: Date) {
    this.#tx = tx;
    this.#deps = deps;
    this.#now = now;
  }

  /** The attempt as it is after its device's report. */
  async move(locked: DecidingAttempt, question: Question): Promise<DecidingAttempt> {
    if (locked.ended_at !== null) return this.#late(locked, question.device);
    const report = question.report !== null && isAbout(question.report, locked) ? question.report : null;
    const open = this.#signsOfLife(locked, report);
    const { state } = open;
    if (state !== "offered" && state !== "returned") throw new Error(`An open attempt is ${state}`);
    const { soakSeconds, isPaused } = question.clock;
    const isDeferred = (each: DecidingAttempt) => each.state === "deferred" && each.release_id === open.release_id;
    const deferred = question.attempts.filter(isDeferred).length;
    const move = moveAttempt(
      { state, version: open.version, fromVersion: open.from_version, returnedAt: open.returned_at },
      { current: question.device.versions[open.component], report, stopped: deviceStop(question.device) },
      {
        now: this.#now,
        soakSeconds: isPaused && state === "returned" ? Number.POSITIVE_INFINITY : soakSeconds,
        deferred,
      },
    );
    if (move === null) return open;
    if (move.to === "returned") return this.#returned(open, soakSeconds);
    const reason = "reason" in move ? move.reason : move.to === "deferred" ? "locked" : null;
    this.#outcomes.push({ attempt: locked, state: move.to, reason });
    return { ...open, state: move.to, ended_at: this.#now };
  }

  async store(): Promise<void> {
    const { progressMaxSeconds: maxSeconds, log } = this.#deps;
    await markStarted(this.#tx, this.#started);
    await recordProgress(this.#tx, this.#progress, { ...this.#deps, maxSeconds });
    const ends = this.#outcomes.map(({ attempt, state, reason }) => ({ id: attempt.id, state, reason }));
    await endAttempts(this.#tx, ends);
    await countOutcomes(this.#tx, this.#outcomes, { now: this.#now, log });
  }

  #late(ended: DecidingAttempt, device: Device): DecidingAttempt {
    if (!hasReturnedLate(ended, device, this.#now)) return ended;
    this.#outcomes.push({ attempt: ended, state: "succeeded", reason: "late", late: true });
    return { ...ended, state: "succeeded" };
  }

  /** A report that the device began, or has got further, keeps the attempt alive. */
  #signsOfLife(open: DecidingAttempt, report: Report | null): DecidingAttempt {
    if (open.state !== "offered") return open;
    const isStarting = open.started_at === null && hasStarted(report);
    if (isStarting) this.#started.push(open.id);
    const started = isStarting ? { ...open, started_at: this.#now } : open;
    const bytes = bytesOf(report);
    if (bytes <= Number(open.progress_bytes ?? 0)) return started;
    this.#progress.push({ id: open.id, bytes });
    return { ...started, deadline: extended(open, this.#now, this.#deps) };
  }

  async #returned(open: DecidingAttempt, soakSeconds: number): Promise<DecidingAttempt> {
    const patienceSeconds = soakSeconds + missedMax * this.#deps.heartbeatIntervalSeconds;
    await markReturned(this.#tx, open.id, patienceSeconds);
    const deadline = new Date(this.#now.getTime() + patienceSeconds * 1_000);
    return { ...open, state: "returned", returned_at: this.#now, deadline };
  }
}

function isAbout({ component, version }: Report, attempt: DecidingAttempt): boolean {
  return component === attempt.component && (version === "" || parseVersion(version) === attempt.version);
}

/** A returned device's deadline comes three intervals after the end of its soak. */
export function soakEndOf({ deadline }: AttemptRow, heartbeatIntervalSeconds: number): Date {
  return new Date(deadline.getTime() - missedMax * heartbeatIntervalSeconds * 1_000);
}

function bytesOf(report: Report | null): number {
  return report?.state === "downloading" ? Number(report.bytesDone ?? 0n) : 0;
}

/** As `recordProgress` stores it. */
function extended({ deadline, offered_at: offeredAt }: AttemptRow, now: Date, deps: MoveDeps): Date {
  const latestMs = offeredAt.getTime() + deps.progressMaxSeconds * 1_000;
  const wantedMs = Math.min(now.getTime() + deps.timeoutSeconds * 1_000, latestMs);
  return new Date(Math.max(deadline.getTime(), wantedMs));
}

/** Cancelled attempts of these reasons never become successes: the device took another way. */
const otherWays = ["another_version", "decommissioned"];

/** Whether the device runs a version that it failed to install, or whose offer was taken back, in the last day. */
function hasReturnedLate(row: DecidingAttempt, device: Device, now: Date): boolean {
  const isOpenToIt = row.state === "failed" || (row.state === "cancelled" && !otherWays.includes(row.reason ?? ""));
  if (!isOpenToIt || row.is_superseded || row.ended_at === null) return false;
  if (now.getTime() - row.ended_at.getTime() > lateReturnMs) return false;
  const current = device.versions[row.component];
  return current !== null && parseVersion(current) === row.version;
}
