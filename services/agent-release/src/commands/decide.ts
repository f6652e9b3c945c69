import type { Database, Tx } from "@muster/db";
import { counter, type Logger, systemCaller, uuidv7 } from "@muster/kit";
import type { BeginUpdates, EndUpdates } from "../clients/tenancy.ts";
import { service } from "../config.ts";
import { type Component, platformOf } from "../rules/component.ts";
import { type Decision, fullBudgetMs, type PastAttempt, type Rule, recheckMaxMs } from "../rules/gate.ts";
import { type OpenOffer, resolveOffer } from "../rules/open-offer.ts";
import type { Device } from "../rules/plan.ts";
import { waveOf } from "../rules/ring.ts";
import type { Ramp } from "../rules/rollout.ts";
import { type UpdateState, updateStateOf } from "../rules/update-state.ts";
import {
  type AttemptRow,
  attemptsOf,
  type DecidingAttempt,
  endAttempts,
  type NewAttempt,
  recordGatewayContact,
  requestsOf,
} from "../store/attempts.ts";
import { countOutcomes, type Outcome } from "./count-outcomes.ts";
import { type Begin, beginAll, grant } from "./grant-offers.ts";
import { moveAttempts, type Report, soakEndOf } from "./move-attempts.ts";
import { type Offer, offerOf } from "./offers.ts";
import type { PlanMemory } from "./plan-memory.ts";

export type Question = {
  device: Device;
  report: Report | null;
};

/** `ended`: the device was updating and does so no more. */
export type Answer = { offers: Offer[]; validForMs: number; updating: boolean; ended: boolean };
export type StatedAnswer = Answer & { updateState: UpdateState | null };

export type DecideDeps = {
  db: Database;
  log: Logger;
  now: () => Date;
  /** Whether the contact of a gateway is to be recorded with the next decisions. */
  contactDue: () => boolean;
  plan: PlanMemory;
  begin: BeginUpdates;
  end: EndUpdates;
  timeoutSeconds: number;
  /** Waits after failures of a release on a device. */
  backOffMs: readonly number[];
  progressMaxSeconds: number;
  ramp: Ramp;
  heartbeatIntervalSeconds: number;
};

const decisions = counter(
  "muster_agent_release_update_decisions_total",
  "Decisions of the gate, by component and rule.",
  ["component", "rule"],
);

/**
 * Decides for devices with a new heartbeat: moves their open attempts by their reports, takes back offers that the gate
 * forbids, and grants those that the gate and the rollouts' budgets permit. An offer is committed and recorded by
 * tenancy before it is returned; a repeat returns it again.
 */
export async function decideForDevices(
  deps: DecideDeps,
  questions: readonly Question[],
): Promise<{ answers: StatedAnswer[]; epoch: number }> {
  const newest = new Map(questions.map((question) => [question.device.id, question]));
  const who = { caller: systemCaller(service) };
  const decided = await deps.db.tx(who, (tx) => decideIn(tx, deps, [...newest.values()]), { retry: true });
  const [started] = await Promise.all([beginAll(deps, decided.begins), endAll(deps, decided.answers)]);
  return {
    epoch: decided.epoch,
    answers: questions.map(({ device }) => {
      const answer = decided.answers.get(device.id) ?? nothing;
      const isAnswered = answer.offers.length === 0 || started.has(device.id);
      return { ...(isAnswered ? answer : nothing), updateState: decided.states.get(device.id) ?? null };
    }),
  };
}

const nothing: Answer = { offers: [], validForMs: 0, updating: false, ended: false };

/** Notifies tenancy of devices that update no more. Until it has recorded that, each of their heartbeats repeats it. */
async function endAll({ end, log }: DecideDeps, answers: ReadonlyMap<string, Answer>): Promise<void> {
  const ids = [...answers].filter(([, { ended }]) => ended).map(([id]) => id);
  if (ids.length === 0) return;
  await end(ids).catch((err: unknown) => log.warn({ err, devices: ids.length }, "tenancy records no ends of updates"));
}

type Decided = {
  answers: Map<string, Answer>;
  states: Map<string, UpdateState | null>;
  begins: Begin[];
  epoch: number;
};
type Wanted = { question: Question; attempt: NewAttempt; ended: boolean; note: string | null };

async function decideIn(tx: Tx, deps: DecideDeps, questions: readonly Question[]): Promise<Decided> {
  const now = deps.now();
  if (deps.contactDue()) await recordGatewayContact(tx);
  const ids = questions.map(({ device }) => device.id);
  const partners = questions.map(({ device }) => device.partnerId);
  const [plan, rows, requests] = await Promise.all([
    deps.plan.read(tx, partners),
    attemptsOf(tx, ids),
    requestsOf(tx, ids),
  ]);
  const byDevice = new Map<string, DecidingAttempt[]>();
  for (const row of rows) byDevice.set(row.device_id, [...(byDevice.get(row.device_id) ?? []), row]);
  await moveAttempts(tx, deps, questions, byDevice, now);

  const answers = new Map<string, Answer>();
  const states = new Map<string, UpdateState | null>();
  const begins: Begin[] = [];
  const withdrawn: Outcome[] = [];
  const wanted: Wanted[] = [];
  const said: Said = new Map();
  for (const question of questions) {
    const { device } = question;
    const attempts = byDevice.get(device.id) ?? [];
    const open = attempts.find(isOpen);
    const merged = plan.mergedOf(device.partnerId, device.orgId);
    const note = merged.settings.rollbackNote ?? null;
    const input = {
      device,
      merged,
      catalogue: plan.catalogue,
      requested: requests.has(device.id),
      rollback: plan.openRollback(note),
      backOffMs: deps.backOffMs,
      now,
    };
    const past = { ...input, attempts: pastOf(attempts) };
    const resolved = resolveOffer(past, open ? openOf(open, now) : null);
    states.set(device.id, updateStateOf(past, resolved.decisions));
    for (const decision of resolved.decisions) count(said, decision);
    if (open && resolved.open !== "withdraw") {
      const offer = resolved.open === "repeat" ? offerOf(plan, open, device, note) : null;
      answers.set(device.id, answerOf(open, offer, now, deps.heartbeatIntervalSeconds));
      if (offer) begins.push({ ...beginOf(open), isNew: false });
      continue;
    }
    if (open) withdrawn.push({ attempt: open, state: "cancelled", reason: reasonOf(resolved.decisions, open) });
    const ended = open !== undefined || device.status === "updating";
    const attempt = attemptFor(device, resolved.decisions, now);
    if (attempt !== null) wanted.push({ question, attempt, ended, note });
    else answers.set(device.id, { ...nothing, validForMs: validFor(resolved.decisions, now), ended });
  }
  for (const [component, rules] of said) for (const [rule, n] of rules) decisions.inc({ component, rule }, n);

  const ends = withdrawn.map(({ attempt, state, reason }) => ({ id: attempt.id, state, reason }));
  await endAttempts(tx, ends);
  await countOutcomes(tx, withdrawn, { now, log: deps.log });
  const attempts = wanted.map(({ attempt }) => attempt);
  const granted = await grant(tx, deps, attempts, now);
  for (const { question, attempt, ended, note } of wanted) {
    const { device } = question;
    const offer = granted.has(attempt.id) ? offerOf(plan, attempt, device, note) : null;
    if (!offer) answers.set(device.id, { ...nothing, validForMs: fullBudgetMs, ended });
    else {
      answers.set(device.id, { ...nothing, offers: [offer], updating: true });
      begins.push({ ...beginOf(attempt), isNew: true });
    }
  }
  return { answers, states, begins, epoch: plan.epoch };
}

function answerOf(open: AttemptRow, offer: Offer | null, now: Date, intervalSeconds: number): Answer {
  return {
    offers: offer ? [offer] : [],
    validForMs: open.state === "returned" ? soakLeftMs(open, now, intervalSeconds) : 0,
    updating: open.state === "offered" && open.deadline > now,
    ended: false,
  };
}

/** A new attempt for the component that is offered; null when none is. */
function attemptFor(device: Device, decided: readonly Decision[], now: Date): NewAttempt | null {
  const decision = decided.find(({ rule }) => rule === "offered");
  if (!decision?.target || !decision.rollout) return null;
  const { id: rolloutId, rings, openRings } = decision.rollout;
  return {
    id: uuidv7(now.getTime()),
    device_id: device.id,
    org_id: device.orgId,
    partner_id: device.partnerId,
    site_id: device.siteId,
    component: decision.component,
    release_id: decision.target.id,
    version: decision.target.version,
    rollout_id: rolloutId,
    from_version: decision.current ?? "",
    platform: platformOf(device),
    wave: waveOf(rings, openRings, device, device.versions.agent),
  };
}

/** The rule that took the offer back; another version's offer replaces it. */
function reasonOf(decided: readonly Decision[], { component }: AttemptRow): string {
  const rule = decided.find((each) => each.component === component)?.rule ?? "no_target";
  return rule === "offered" || rule === "in_progress" ? "replaced" : rule;
}

function validFor(decided: readonly Decision[], now: Date): number {
  return Math.max(0, Math.min(...decided.map(({ recheckAt }) => recheckAt.getTime())) - now.getTime());
}

/** How often the gate has said what, by component and rule. */
type Said = Map<Component, Map<Rule, number>>;

function count(said: Said, { component, rule }: Decision) {
  const rules = said.get(component) ?? new Map<Rule, number>();
  said.set(component, rules.set(rule, (rules.get(rule) ?? 0) + 1));
}

/** Until the soak ends nothing is to be decided: a device that goes back is detected by its version. */
function soakLeftMs(attempt: AttemptRow, now: Date, intervalSeconds: number): number {
  const leftMs = soakEndOf(attempt, intervalSeconds).getTime() - now.getTime();
  return Math.max(0, Math.min(leftMs, recheckMaxMs));
}

function beginOf(attempt: Pick<NewAttempt, "id" | "device_id" | "component" | "version">) {
  return { attemptId: attempt.id, deviceId: attempt.device_id, component: attempt.component, version: attempt.version };
}

export const isOpen = ({ ended_at: endedAt }: AttemptRow): boolean => endedAt === null;

/** The ended attempts of a device in the gate's form. */
export function pastOf(rows: readonly AttemptRow[]): PastAttempt[] {
  return rows
    .filter((row) => !isOpen(row))
    .map((row) => ({ component: row.component, releaseId: row.release_id, state: row.state, endedAt: row.ended_at }));
}

export function openOf(row: AttemptRow, now: Date): OpenOffer {
  return {
    component: row.component,
    releaseId: row.release_id,
    rolloutId: row.rollout_id,
    state: row.state as OpenOffer["state"],
    isStarted: row.started_at !== null,
    isDue: row.deadline <= now,
  };
}
