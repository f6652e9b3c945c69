/** What the model needs of agent-release's rules, as its compiled file has it. */
type Counters = { inFlight: number; succeeded: number; failed: number; failuresBeforeResume: number };
type Part = Counters & { kind: "organization" | "platform"; firstEnded: boolean; isHalted: boolean };
type Limits = { maxInFlight: number; haltFailures: number; haltPercent: number };
type Ramp = { startBudget: number; firstDeviceAlone: boolean };
type Rules = {
  guardLimits: Limits & { soakSeconds: number };
  isOverThreshold(limits: Limits, counters: Counters): boolean;
  budgetOf(limits: Limits, counters: Counters, ramp: Ramp): number;
  partBudgetOf(kind: "guard" | "staged", part: Part, ramp: Ramp): number;
};

export const loadRules = async (): Promise<Rules> =>
  await import(new URL("../../../services/agent-release/dist/rules/rollout.js", import.meta.url).href);

export type Fleet = {
  devices: number;
  organizations: number;
  /** Share of the devices of an organization and a platform on which the release fails. */
  failing(organization: number, platform: number): number;
  kind: "guard" | "staged";
  random(): number;
};
export type Outcome = {
  /** Whether the whole was halted, and how many of its parts. */
  isHalted: boolean;
  haltedParts: number;
  offered: number;
  failed: number;
  /** Until the last success. */
  seconds: number;
};

const platforms = 6;
const intervalSeconds = 60;
const timeoutSeconds = 300;
/** A model that takes longer is stuck. */
const secondsMax = 24 * 3_600;
const ramp: Ramp = { startBudget: 5, firstDeviceAlone: true };

type Device = { parts: readonly [Part, Part]; fails: boolean };
type End = { device: Device; failed: boolean };

/**
 * One release on a fleet, second by second: devices send a heartbeat each minute, download and restart in 20 to 90
 * seconds, and have succeeded with their first heartbeat after the soak. Of those that fail half report it within a
 * minute, half are silent.
 */
export function simulate(rules: Rules, { devices, organizations, failing, kind, random }: Fleet): Outcome {
  const { guardLimits: limits } = rules;
  const part = (of: Part["kind"]): Part => {
    const counters = { inFlight: 0, succeeded: 0, failed: 0, failuresBeforeResume: 0 };
    return { kind: of, ...counters, firstEnded: false, isHalted: false };
  };
  const owners = Array.from({ length: organizations }, () => part("organization"));
  const systems = Array.from({ length: platforms }, () => part("platform"));
  const whole = part("organization");
  // By the second of the minute in which each sends its heartbeat.
  const waiting: Device[][] = Array.from({ length: intervalSeconds }, () => []);
  for (let at = 0; at < devices; at++) {
    const [organization, platform] = [at % organizations, Math.floor(random() * platforms)];
    const parts = [owners[organization] as Part, systems[platform] as Part] as const;
    const fails = random() < failing(organization, platform);
    waiting[Math.floor(random() * intervalSeconds)]?.push({ parts, fails });
  }
  const ends = new Map<number, End[]>();
  const endAt = (second: number, end: End) => {
    const list = ends.get(second) ?? [];
    if (list.length === 0) ends.set(second, list);
    list.push(end);
  };
  let offered = 0;
  let lastSuccess = 0;
  for (let now = 0; now < secondsMax; now++) {
    for (const { device, failed } of ends.get(now) ?? []) {
      for (const each of [whole, ...device.parts]) {
        each.inFlight--;
        if (failed) each.failed++;
        else each.succeeded++;
        each.firstEnded = true;
        if (failed && rules.isOverThreshold(limits, each)) each.isHalted = true;
      }
      if (!failed) lastSuccess = now;
    }
    ends.delete(now);
    if (whole.isHalted) break;
    const queue = waiting[now % intervalSeconds] as Device[];
    const left: Device[] = [];
    let budget = rules.budgetOf(limits, whole, ramp);
    for (const [at, device] of queue.entries()) {
      if (budget <= 0) {
        for (let rest = at; rest < queue.length; rest++) left.push(queue[rest] as Device);
        break;
      }
      if (Math.min(...device.parts.map((each) => rules.partBudgetOf(kind, each, ramp))) <= 0) {
        left.push(device);
        continue;
      }
      budget--;
      offered++;
      for (const each of [whole, ...device.parts]) each.inFlight++;
      const returned = now + 20 + random() * 70;
      const failsAt = random() < 0.5 ? now + 5 + random() * 55 : now + timeoutSeconds;
      const succeeds = returned + limits.soakSeconds + random() * intervalSeconds;
      endAt(Math.ceil(device.fails ? failsAt : succeeds), { device, failed: device.fails });
    }
    waiting[now % intervalSeconds] = left;
    if (ends.size === 0 && waiting.every((each) => each.every(({ parts }) => parts.some(({ isHalted }) => isHalted))))
      break;
  }
  const haltedParts = [...owners, ...systems].filter(({ isHalted }) => isHalted).length;
  return { isHalted: whole.isHalted, haltedParts, offered, failed: whole.failed, seconds: lastSuccess };
}
