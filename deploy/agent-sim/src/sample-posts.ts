import { randomUUID } from "node:crypto";
import type { Identity } from "./identities.ts";

const components = ["heartbeat", "inventory", "updater", "channel", "patches"];
const levels = ["debug", "info", "info", "info", "warn", "error"] as const;
const sources = ["Service Control Manager", "disk", "Kernel-Power", "Security-Auditing"];

/** One to five diagnostic log entries. */
export function someLogs({ hostname }: Identity, random: () => number): unknown[] {
  return Array.from({ length: 1 + Math.floor(random() * 5) }, () => {
    const component = pick(components, random);
    const level = pick(levels, random);
    const ms = Math.round(random() * 900);
    const message =
      level === "error" ? `${component} failed on ${hostname}, trying again` : `${component} took ${ms} ms`;
    return { timestamp: new Date().toISOString(), level, component, message, fields: { ms } };
  });
}

/** One to three device events. */
export function someEvents(random: () => number): unknown[] {
  return Array.from({ length: 1 + Math.floor(random() * 3) }, () => ({
    timestamp: new Date().toISOString(),
    level: pick(["info", "info", "warning", "error"], random),
    category: pick(["system", "security", "hardware", "application"], random),
    source: pick(sources, random),
    eventId: randomUUID(),
    message: "Simulated event",
  }));
}

const pick = <T>(list: readonly T[], random: () => number): T => list[Math.floor(random() * list.length)] as T;
