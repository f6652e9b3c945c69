/** What needs attention: where it is, since when, and a sentence. */
export type Need = {
  kind: "rollout" | "webhook" | "stream" | "key" | "devices";
  tone: "bad" | "warn";
  title: string;
  why: string;
};

type Part = { platform: string | null; succeeded: number; failed: number };
type Rollout = {
  component: string;
  version: string;
  state: string;
  reason: string | null;
  failed: number;
  haltedParts: readonly Part[];
};

const devices = (count: number) => `${count.toLocaleString("en")} ${count === 1 ? "device" : "devices"}`;

/** A rollout that halted as a whole or in part; null for one that runs. */
export function needOfRollout({ component, version, state, reason, failed, haltedParts }: Rollout): Need | null {
  const [part] = haltedParts;
  if (state === "halted") {
    const why = reason ?? `${devices(failed)} failed to update.`;
    return { kind: "rollout", tone: "bad", title: `Rollout of ${component} ${version} is halted.`, why };
  }
  if (!part || state !== "running") return null;
  const where = part.platform ?? "one customer";
  const why = `${part.failed.toLocaleString("en")} of ${devices(part.failed + part.succeeded)} failed; the others go on.`;
  return { kind: "rollout", tone: "bad", title: `Rollout of ${component} ${version} is halted on ${where}.`, why };
}

/** A webhook that was turned off since its receiver kept failing. */
export const needOfWebhook = ({ name, url }: { name: string; url: string }): Need => ({
  kind: "webhook",
  tone: "bad",
  title: `Webhook “${name}” is failing.`,
  why: `${hostOf(url)} kept refusing deliveries; those that wait are sent once it answers again.`,
});

export const needOfStream = ({ name, lastError }: { name: string; lastError: string | null }): Need => ({
  kind: "stream",
  tone: "bad",
  title: `Stream “${name}” is failing.`,
  why: lastError ?? "Its receiver refuses audit rows.",
});

const dayMs = 86_400_000;

export function needOfKey({ name, expiresAt }: { name: string; expiresAt: string | null }, now: Date): Need {
  const days = Math.max(0, Math.ceil((new Date(expiresAt ?? now).getTime() - now.getTime()) / dayMs));
  return {
    kind: "key",
    tone: "warn",
    title: `API key “${name}” ends in ${days} ${days === 1 ? "day" : "days"}.`,
    why: "Rotate it before the programs that use it stop.",
  };
}

export const needOfQuarantine = (count: number): Need => ({
  kind: "devices",
  tone: "warn",
  title: `${devices(count)} ${count === 1 ? "waits" : "wait"} for approval.`,
  why: "Reinstalled, or a second one with the same hardware: trust it or replace the other one.",
});

/** The host of an address; the address itself where it is none. */
export function hostOf(url: string): string {
  try {
    return new URL(url).host;
  } catch {
    return url;
  }
}
