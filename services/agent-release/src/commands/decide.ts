import type { Database, Tx } from "@muster/db";
import { counter, type Logger, systemCaller, uuidv7 } from "@muster/kit";
import type { BeginUpdates } from "../clients/tenancy.ts";
import { service } from "../config.ts";
import { lateReturnMs, moveAttempt } from "../rules/attempt.ts";
import { type Decision, type Device, decide as gate, type PastAttempt, recheckMaxMs } from "../rules/gate.ts";
import { budgetOf } from "../rules/rollout.ts";
import { parseVersion } from "../rules/version.ts";
import {
  type AttemptRow,
  attemptsOf,
  dropRequests,
  endAttempts,
  insertAttempts,
  lockOpen,
  markReturned,
  type NewAttempt,
  noteHeard,
  removeAttempts,
  requestsOf,
} from "../store/attempts.ts";
import { countersOf, limitsOf, lockRollouts, soaksOf, updateRollout } from "../store/rollouts.ts";
import { countOutcomes, type Outcome } from "./count-outcomes.ts";
import type { Plan, PlanMemory } from "./plan-memory.ts";

export type Question = {
  device: Device;
  report: { component: string; version: string; state: string; error: string } | null;
};

export type Offer = {
  attemptId: string;
  component: string;
  version: string;
  os: string;
  arch: string;
  size: number;
  sha256: string;
  manifest: string | null;
};
export type Answer = { offers: Offer[]; validForMs: number; updating: boolean };

export type DecideDeps = {
  db: Database;
  log: Logger;
  now: () => Date;
  plan: PlanMemory;
  begin: BeginUpdates;
  timeoutSeconds: number;
  heartbeatIntervalSeconds: number;
};

const decisions = counter("agent_release_decisions_total", "Decisions of the gate, by component and rule.", [
  "component",
  "rule",
]);

const heardEveryMs = 5_000;
let heardAtMs = Number.NEGATIVE_INFINITY;

/**
 * Decides for devices that were just heard: moves their open attempts by what they said, and grants what the gate and the rollouts'
 * budgets allow. What is offered is committed and known to tenancy before it is returned; a repeat offers it again.
 */
export async function decideForDevices(
  deps: DecideDeps,
  questions: readonly Question[],
): Promise<{ answers: Answer[]; epoch: number }> {
  const newest = new Map(questions.map((question) => [question.device.id, question]));
  const who = { caller: systemCaller(service) };
  const decided = await deps.db.tx(who, (tx) => decideIn(tx, deps, [...newest.values()]), { retry: true });
  const begun = await beginAll(deps, decided.begins);
  return {
    epoch: decided.epoch,
    answers: questions.map(({ device }) => {
      const answer = decided.answers.get(device.id) ?? nothing;
      return answer.offers.length === 0 || begun.has(device.id) ? answer : nothing;
    }),
  };
}

const nothing: Answer = { offers: [], validForMs: 0, updating: false };

type Begin = { attemptId: string; deviceId: string; component: string; version: string; isNew: boolean };
type Decided = { answers: Map<string, Answer>; begins: Begin[]; epoch: number };

async function decideIn(tx: Tx, deps: DecideDeps, questions: readonly Question[]): Promise<Decided> {
  const now = deps.now();
  if (performance.now() - heardAtMs > heardEveryMs) {
    heardAtMs = performance.now();
    await noteHeard(tx);
  }
  const ids = questions.map(({ device }) => device.id);
  const [plan, rows, requests] = await Promise.all([
    deps.plan.read(
      tx,
      questions.map(({ device }) => device.partnerId),
    ),
    attemptsOf(tx, ids),
    requestsOf(tx, ids),
  ]);
  const byDevice = new Map<string, AttemptRow[]>();
  for (const row of rows) byDevice.set(row.device_id, [...(byDevice.get(row.device_id) ?? []), row]);
  await moveAttempts(tx, deps, questions, byDevice, now);

  const answers = new Map<string, Answer>();
  const begins: Begin[] = [];
  const wanted: { question: Question; decision: Decision; attempt: NewAttempt; validForMs: number }[] = [];
  for (const question of questions) {
    const { device } = question;
    const attempts = byDevice.get(device.id) ?? [];
    const open = attempts.find(({ ended_at: endedAt }) => endedAt === null);
    const merged = plan.mergedOf(device.partnerId, device.orgId);
    const requested = requests.has(device.id);
    const past = attempts.map(pastOf);
    const decided = gate({ device, merged, catalogue: plan.catalogue, attempts: past, requested, now });
    for (const { component, rule } of decided) decisions.inc({ component, rule });
    if (open) {
      const isDue = open.deadline <= now;
      const offer = open.state === "offered" && !isDue ? offerOf(plan, open, device) : null;
      answers.set(device.id, {
        offers: offer ? [offer] : [],
        validForMs: open.state === "returned" ? soakLeftMs(open, now, deps.heartbeatIntervalSeconds) : 0,
        updating: open.state === "offered" && !isDue,
      });
      if (offer) begins.push({ ...beginOf(open), isNew: false });
      continue;
    }
    const validForMs = Math.max(0, Math.min(...decided.map(({ recheckAt }) => recheckAt.getTime())) - now.getTime());
    const decision = decided.find(({ rule }) => rule === "offered");
    if (!decision?.target || !decision.rollout) {
      answers.set(device.id, { offers: [], validForMs, updating: false });
      continue;
    }
    const attempt: NewAttempt = {
      id: uuidv7(now.getTime()),
      device_id: device.id,
      org_id: device.orgId,
      partner_id: device.partnerId,
      site_id: device.siteId,
      component: decision.component,
      release_id: decision.target.id,
      version: decision.target.version,
      rollout_id: decision.rollout.id,
      from_version: decision.current ?? "",
    };
    wanted.push({ question, decision, attempt, validForMs });
  }

  const granted = await grant(
    tx,
    deps,
    wanted.map(({ attempt }) => attempt),
    now,
  );
  await dropRequests(
    tx,
    wanted
      .filter(({ attempt }) => granted.has(attempt.id) && requests.has(attempt.device_id))
      .map(({ attempt }) => attempt.device_id),
  );
  for (const { question, attempt } of wanted) {
    const offer = granted.has(attempt.id) ? offerOf(plan, attempt, question.device) : null;
    if (!offer) answers.set(question.device.id, { offers: [], validForMs: fullBudgetMs, updating: false });
    else {
      answers.set(question.device.id, { offers: [offer], validForMs: 0, updating: true });
      begins.push({ ...beginOf(attempt), isNew: true });
    }
  }
  return { answers, begins, epoch: plan.epoch };
}

const fullBudgetMs = 30_000;
/** Heartbeats that a device may miss while it soaks. */
const missedMax = 3;

/** Takes offers out of the budgets of their rollouts, under the lock of each; the ids of the attempts that got one. */
async function grant(
  tx: Tx,
  { timeoutSeconds }: DecideDeps,
  attempts: readonly NewAttempt[],
  now: Date,
): Promise<Set<string>> {
  if (attempts.length === 0) return new Set();
  const rollouts = await lockRollouts(tx, [...new Set(attempts.map(({ rollout_id: id }) => id))]);
  const taken: NewAttempt[] = [];
  for (const rollout of rollouts) {
    const budget = rollout.state === "running" ? budgetOf(limitsOf(rollout), countersOf(rollout)) : 0;
    taken.push(...attempts.filter(({ rollout_id: id }) => id === rollout.id).slice(0, budget));
  }
  if (taken.length === 0) return new Set();
  const opened = await insertAttempts(tx, taken, timeoutSeconds);
  for (const rollout of rollouts) {
    const n = taken.filter(({ id, rollout_id: of }) => of === rollout.id && opened.has(id)).length;
    if (n > 0) await updateRollout(tx, { ...rollout, in_flight: rollout.in_flight + n }, now);
  }
  return opened;
}

/** Moves open attempts by what their devices said, and turns failures whose device has returned after all. */
async function moveAttempts(
  tx: Tx,
  deps: DecideDeps,
  questions: readonly Question[],
  byDevice: Map<string, AttemptRow[]>,
  now: Date,
): Promise<void> {
  const outcomes: Outcome[] = [];
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
  const soaks = await soaksOf(tx, [...new Set([...locked.values()].map(({ rollout_id: id }) => id))]);
  for (const { device, report } of questions) {
    const attempts = byDevice.get(device.id) ?? [];
    for (const [index, row] of attempts.entries()) {
      const open = locked.get(row.id);
      if (!open) continue;
      attempts[index] = open;
      if (open.ended_at !== null) {
        if (!hasReturnedLate(open, device, now)) continue;
        outcomes.push({ attempt: open, state: "succeeded", reason: "late", late: true });
        attempts[index] = { ...open, state: "succeeded" };
        continue;
      }
      const soakSeconds = soaks.get(open.rollout_id) ?? 0;
      const about =
        report !== null &&
        report.component === open.component &&
        (report.version === "" || parseVersion(report.version) === open.version);
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
        { current: device.versions[open.component], report: about ? report : null },
        { now, soakSeconds, deferred },
      );
      if (move === null) continue;
      if (move.to === "returned") {
        await markReturned(tx, open.id, soakSeconds + missedMax * deps.heartbeatIntervalSeconds);
        const patienceMs = (soakSeconds + missedMax * deps.heartbeatIntervalSeconds) * 1_000;
        attempts[index] = {
          ...open,
          state: "returned",
          returned_at: now,
          deadline: new Date(now.getTime() + patienceMs),
        };
        continue;
      }
      const reason = "reason" in move ? move.reason : move.to === "deferred" ? "locked" : null;
      outcomes.push({ attempt: open, state: move.to, reason });
      attempts[index] = { ...open, state: move.to, ended_at: now };
    }
    byDevice.set(device.id, attempts);
  }
  await endAttempts(
    tx,
    outcomes.map(({ attempt, state, reason }) => ({ id: attempt.id, state, reason })),
  );
  await countOutcomes(tx, outcomes, { now, log: deps.log });
}

function hasReturnedLate(row: AttemptRow, device: Device, now: Date): boolean {
  if (row.state !== "failed" || row.ended_at === null || now.getTime() - row.ended_at.getTime() > lateReturnMs)
    return false;
  const current = device.versions[row.component];
  return current !== null && parseVersion(current) === row.version;
}

/** Tells tenancy; grants that it does not know of are taken back, so that they hold no place. */
async function beginAll(deps: DecideDeps, begins: readonly Begin[]): Promise<Set<string>> {
  if (begins.length === 0) return new Set();
  const { timeoutSeconds } = deps;
  let begun: Set<string>;
  try {
    begun = await deps.begin(
      begins.map(({ deviceId, component, version }) => ({ deviceId, component, version, timeoutSeconds })),
    );
  } catch (err) {
    deps.log.warn({ err, updates: begins.length }, "tenancy does not take updates: they are taken back");
    begun = new Set();
  }
  const back = begins.filter(({ deviceId, isNew }) => isNew && !begun.has(deviceId)).map(({ attemptId }) => attemptId);
  if (back.length > 0) {
    await deps.db.tx({ caller: systemCaller(service) }, async (tx) => {
      const removed = await removeAttempts(tx, back);
      const now = deps.now();
      for (const rollout of await lockRollouts(tx, [...new Set(removed.map(({ rollout_id: id }) => id))])) {
        const n = removed.filter(({ rollout_id: id }) => id === rollout.id).length;
        await updateRollout(tx, { ...rollout, in_flight: Math.max(0, rollout.in_flight - n) }, now);
      }
    });
  }
  return begun;
}

function offerOf(
  plan: Plan,
  attempt: { id: string; component: string; version: string; release_id: string; rollout_id: string },
  device: Device,
): Offer | null {
  const release = plan.catalogue[attempt.component as "agent"].releases.find(({ id }) => id === attempt.release_id);
  const rollout = release && [release.guard, ...release.staged].find(({ id }) => id === attempt.rollout_id);
  const stopped = !release || release.yanked || rollout?.state === "halted" || rollout?.state === "paused";
  const artifact = plan.offered.get(attempt.release_id)?.artifacts.get(`${device.os}/${device.arch}`);
  if (stopped || !artifact) return null;
  const { component, version } = attempt;
  const manifest = plan.offered.get(attempt.release_id)?.manifest ?? null;
  return { attemptId: attempt.id, component, version, ...artifact, manifest };
}

/** Until the soak ends there is nothing to ask: a device that goes back is heard by its version. */
function soakLeftMs(attempt: AttemptRow, now: Date, intervalSeconds: number): number {
  const soakEndMs = attempt.deadline.getTime() - missedMax * intervalSeconds * 1_000;
  return Math.max(0, Math.min(soakEndMs - now.getTime(), recheckMaxMs));
}

function beginOf(attempt: { id: string; device_id: string; component: string; version: string }) {
  return { attemptId: attempt.id, deviceId: attempt.device_id, component: attempt.component, version: attempt.version };
}

function pastOf(row: AttemptRow): PastAttempt {
  return { component: row.component, releaseId: row.release_id, state: row.state, endedAt: row.ended_at };
}
