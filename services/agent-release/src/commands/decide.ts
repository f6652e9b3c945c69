import type { Database, Tx } from "@muster/db";
import { counter, type Logger, systemCaller, uuidv7 } from "@muster/kit";
import type { BeginUpdates } from "../clients/tenancy.ts";
import { service } from "../config.ts";
import { type Decision, type Device, decide as gate, type PastAttempt, recheckMaxMs } from "../rules/gate.ts";
import {
  type AttemptRow,
  attemptsOf,
  dropRequests,
  type NewAttempt,
  recordGatewayContact,
  requestsOf,
} from "../store/attempts.ts";
import { type Begin, beginAll, grant } from "./grant-offers.ts";
import { missedMax, moveAttempts, type Report } from "./move-attempts.ts";
import type { Plan, PlanMemory } from "./plan-memory.ts";

export type Question = {
  device: Device;
  report: Report | null;
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
  /** How the keys of manifests were exchanged, oldest first; empty for an unsigned release. */
  rootNotes: readonly string[];
};
export type Answer = { offers: Offer[]; validForMs: number; updating: boolean };

export type DecideDeps = {
  db: Database;
  log: Logger;
  now: () => Date;
  plan: PlanMemory;
  begin: BeginUpdates;
  timeoutSeconds: number;
  /** Waits after failures of a release on a device. */
  backOffMs: readonly number[];
  heartbeatIntervalSeconds: number;
};

const decisions = counter(
  "muster_agent_release_update_decisions_total",
  "Decisions of the gate, by component and rule.",
  ["component", "rule"],
);

const recordEveryMs = 5_000;
let recordedAtMs = Number.NEGATIVE_INFINITY;

/**
 * Decides for devices with a new heartbeat: moves their open attempts by their reports, and grants offers that the gate
 * and the rollouts' budgets permit. An offer is committed and recorded by tenancy before it is returned; a repeat
 * returns it again.
 */
export async function decideForDevices(
  deps: DecideDeps,
  questions: readonly Question[],
): Promise<{ answers: Answer[]; epoch: number }> {
  const newest = new Map(questions.map((question) => [question.device.id, question]));
  const who = { caller: systemCaller(service) };
  const decided = await deps.db.tx(who, (tx) => decideIn(tx, deps, [...newest.values()]), { retry: true });
  const started = await beginAll(deps, decided.begins);
  return {
    epoch: decided.epoch,
    answers: questions.map(({ device }) => {
      const answer = decided.answers.get(device.id) ?? nothing;
      return answer.offers.length === 0 || started.has(device.id) ? answer : nothing;
    }),
  };
}

const nothing: Answer = { offers: [], validForMs: 0, updating: false };

type Decided = { answers: Map<string, Answer>; begins: Begin[]; epoch: number };

async function decideIn(tx: Tx, deps: DecideDeps, questions: readonly Question[]): Promise<Decided> {
  const now = deps.now();
  if (performance.now() - recordedAtMs > recordEveryMs) {
    recordedAtMs = performance.now();
    await recordGatewayContact(tx);
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
  const said = new Map<string, { component: string; rule: string; count: number }>();
  const wanted: { question: Question; decision: Decision; attempt: NewAttempt; validForMs: number }[] = [];
  for (const question of questions) {
    const { device } = question;
    const attempts = byDevice.get(device.id) ?? [];
    const open = attempts.find(({ ended_at: endedAt }) => endedAt === null);
    const merged = plan.mergedOf(device.partnerId, device.orgId);
    const requested = requests.has(device.id);
    const past = attempts.map(pastOf);
    const decided = gate({
      device,
      merged,
      catalogue: plan.catalogue,
      attempts: past,
      requested,
      backOffMs: deps.backOffMs,
      now,
    });
    for (const { component, rule } of decided) {
      const key = `${component} ${rule}`;
      const counted = said.get(key);
      if (counted) counted.count++;
      else said.set(key, { component, rule, count: 1 });
    }
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
  for (const { count, ...labels } of said.values()) decisions.inc(labels, count);

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
function offerOf(
  plan: Plan,
  attempt: { id: string; component: string; version: string; release_id: string; rollout_id: string },
  device: Device,
): Offer | null {
  const release = plan.catalogue[attempt.component as "agent"].releases.find(({ id }) => id === attempt.release_id);
  const rollout = release && [release.guard, ...release.staged].find(({ id }) => id === attempt.rollout_id);
  // The plan holds no rollout that has ended: after a completed one its release is promoted; any other was cancelled.
  const isOn = rollout
    ? rollout.state === "running"
    : plan.catalogue[attempt.component as "agent"].promotedId === release?.id;
  const stopped = !release || release.yanked || !release.trusted || !isOn;
  const artifact = plan.offered.get(attempt.release_id)?.artifacts.get(`${device.os}/${device.arch}`);
  if (stopped || !artifact) return null;
  const { component, version } = attempt;
  const manifest = plan.offered.get(attempt.release_id)?.manifest ?? null;
  return {
    attemptId: attempt.id,
    component,
    version,
    ...artifact,
    manifest,
    rootNotes: manifest ? plan.rootNotes : [],
  };
}

/** Until the soak ends nothing is to be decided: a device that goes back is detected by its version. */
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
