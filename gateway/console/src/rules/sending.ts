import type { Tone } from "./tone.ts";

type Sender = { status: string; breaker: "closed" | "open" | "recovering"; openUntil: string | null };

/** Whether a webhook's deliveries are sent, in words; `textOf` writes the instant at which they go on. */
export function sending(
  { status, breaker, openUntil }: Sender,
  textOf: (at: Date) => string,
): { word: string; tone: Tone } {
  if (status !== "active") return { word: status === "paused" ? "paused" : "turned off after failures", tone: "warn" };
  switch (breaker) {
    case "open":
      return { word: openUntil ? `paused until ${textOf(new Date(openUntil))}` : "paused after failures", tone: "bad" };
    case "recovering":
      return { word: "slowly, after failures", tone: "warn" };
    case "closed":
      return { word: "as events come", tone: "off" };
  }
}
