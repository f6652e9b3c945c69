type Shown = { of: string; as: string; tone: "good" | "run" | "off" | "warn" };

/** How a program stands to its target, in a word; the sentence beside it says why. */
export function decisionState({ current, target }: { current: string | null; target: string | null }): Shown {
  if (target === null) return { of: "none", as: "no target", tone: "off" };
  if (current === null) return { of: "unknown", as: "not reported", tone: "off" };
  return current === target
    ? { of: "current", as: "up to date", tone: "good" }
    : { of: "waits", as: "waits", tone: "warn" };
}
