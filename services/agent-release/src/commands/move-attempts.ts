import type { Tx } from "@muster/db";
import type { Logger } from "@muster/kit";
import { hasStarted, lateReturnMs, moveAttempt } from "../rules/attempt.ts";
import type { Device } from "../rules/gate.ts";
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
export type Report = { component: string; version: string; state: string; error: string; bytesDone?: bigint };

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
  const outcomes: Outcome[] = [];
  const started: string[] = [];
  const progress: { id: string; bytes: number }[] = [];
  const candidates = questions.flatMap(({ device }) =>
    (byDevice.get(device.id) ?? []).filter((row) => row.ended_at === null || hasReturnedLate(row, device, now)),
  );
  if (candidates.length === 0) return;
  const locked = new Map(
    (
      await lockOpen(
        tx,
        candidates.map(({ id }) => id),
      )
    ).map((row) => [row.id, row]),
  );
  const clocks = await clocksOf(tx, [...new Set([...locked.values()].map(({ rollout_id: id }) => id))]);
  for (const { device, report } of questions) {
    const attempts = byDevice.get(device.id) ?? [];
    for (const [index, row] of attempts.entries()) {
      const open = locked.get(row.id);
      if (!open) continue;
      attempts[index] = { ...row, ...open };
      if (open.ended_at !== null) {
        if (!hasReturnedLate({ ...row, ...open }, device, now)) continue;
        outcomes.push({ attempt: open, state: "succeeded", reason: "late", late: true });
        attempts[index] = { ...row, ...open, state: "succeeded" };
        continue;
      }
      const { soakSeconds, isPaused } = clocks.get(open.rollout_id) ?? { soakSeconds: 0, isPaused: false };
      const about =
        report !== null &&
        report.component === open.component &&
        (report.version === "" || parseVersion(report.version) === open.version);
      if (about && open.state === "offered" && open.started_at === null && hasStarted(report)) {
        started.push(open.id);
        attempts[index] = { ...row, ...open, started_at: now };
      }
      const bytes = about ? bytesOf(report) : 0;
      if (open.state === "offered" && bytes > Number(open.progress_bytes ?? 0)) {
        progress.push({ id: open.id, bytes });
        attempts[index] = { ...row, ...open, ...attempts[index], deadline: extended(open, now, deps) };
      }
      const deferred = attempts.filter(
        (each) => each.state === "deferred" && each.release_id === open.release_id,
      ).length;
      const move = moveAttempt(
        {
          state: open.state as "offered" | "returned",
          version: open.version,
          fromVersion: open.from_version,
          returnedAt: open.returned_at,
        },
        { current: device.versions[open.component], report: about ? report : null, stopped: stoppedBy(device) },
        { now, soakSeconds: isPaused && open.state === "returned" ? Number.POSITIVE_INFINITY : soakSeconds, deferred },
      );
      if (move === null) continue;
      if (move.to === "returned") {
        await markReturned(tx, open.id, soakSeconds + missedMax * deps.heartbeatIntervalSeconds);
        const patienceMs = (soakSeconds + missedMax * deps.heartbeatIntervalSeconds) * 1_000;
        attempts[index] = {
          ...row,
          ...open,
          state: "returned",
          returned_at: now,
          deadline: new Date(now.getTime() + patienceMs),
        };
        continue;
      }
      const reason = "reason" in move ? move.reason : move.to === "deferred" ? "locked" : null;
      outcomes.push({ attempt: open, state: move.to, reason });
      attempts[index] = { ...row, ...open, state: move.to, ended_at: now };
    }
    byDevice.set(device.id, attempts);
  }
  await markStarted(tx, started);
  await recordProgress(tx, progress, { ...deps, maxSeconds: deps.progressMaxSeconds });
  await endAttempts(
    tx,
    outcomes.map(({ attempt, state, reason }) => ({ id: attempt.id, state, reason })),
  );
  await countOutcomes(tx, outcomes, { now, log: deps.log });
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

function stoppedBy({ status, autoUpdateEnabled }: Device): "auto_update_off" | "not_eligible" | null {
  if (status === "quarantined" || status === "decommissioned") return "not_eligible";
  return autoUpdateEnabled ? null : "auto_update_off";
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
