import { parseArgs } from "node:util";
import { messageOf, parseVerifier } from "@muster/kit";
import { type Scenario, scenarioNames, scenarios } from "./scenarios.ts";

export type SimOptions = {
  /** Without a trailing slash and without /api/v1. */
  url: string;
  enrollmentKey: string | null;
  count: number;
  stateFile: string;
  /** Enrollments started per second. */
  ramp: number;
  /** Heartbeat interval in seconds that replaces the server's; null for the server's. */
  intervalSeconds: number | null;
  /** Seconds between posts of diagnostic logs and of events; 0 posts none. */
  logsSeconds: number;
  eventsSeconds: number;
  rotateSeconds: number;
  channel: boolean;
  os: "windows" | "linux" | "darwin" | "mixed";
  /** Versions of agents that are new; null: the component is not reported. */
  agentVersion: string;
  watchdogVersion: string | null;
  helperVersion: string | null;
  hostname: string;
  /** Seconds to run; null until stopped. */
  durationSeconds: number | null;
  figuresSeconds: number;
  connections: number;
  misbehave: "normal" | "silent" | "slow" | "garbage";
  update: Scenario;
  /** Percent of the agents that act out the scenario. */
  updatePercent: number;
  restartSeconds: number;
  /** Verifier keys of release manifests, and the number of the root that they are. */
  releaseKeys: readonly string[];
  releaseRoot: number;
};

const scenarioLines = Object.entries(scenarios).map(([name, says]) => `      ${name.padEnd(14)} ${says}`);

export const usage = `Simulated agents: they enroll, heartbeat, post logs and events, and answer live queries.

  npm run agent-sim -- --url http://localhost:3000 --enrollment-key KEY [options]

  --url URL                where the platform is (http://localhost:3000)
  --enrollment-key KEY     needed for agents that are not in the state file yet
  --count N                agents in this process, 1 to 50000 (1)
  --state FILE             identities, so that a restart continues (.muster/agent-sim.jsonl)
  --ramp N                 enrollments started in a second (50)
  --interval SECONDS       between heartbeats; without it as the server says
  --logs SECONDS           between posts of diagnostic logs, 0 for none (60)
  --events SECONDS         between posts of device events, 0 for none (120)
  --rotate SECONDS         between rotations of the token, 0 for none (0)
  --no-channel             no channel for live queries
  --os OS                  windows, linux, darwin or mixed (windows)
  --agent-version V        version of new agents (1.0.0); updates change it
  --watchdog-version V     the same of the watchdog, which is not reported without it
  --helper-version V       the same of the helper
  --hostname NAME          prefix of the host names (sim)
  --misbehave HOW          live queries: silent, slow or garbage (normal)
  --update SCENARIO        what an update that is offered comes to (ok):
${scenarioLines.join("\n")}
  --update-percent P       percent of the agents that act it out; the others update successfully (100)
  --restart SECONDS        that a restart into another version takes (2)
  --release-keys KEYS      verifier keys of manifests, comma-separated; without them unsigned releases are installed
  --release-root N         number of the root that these keys are (1); newer ones are learned from root notes
  --duration SECONDS       ends by itself (runs until Ctrl-C)
  --figures SECONDS        between lines of figures (5)
  --connections N          HTTP connections of the whole process (64)
  --help                   this text`;

const names = {
  url: { type: "string" },
  "enrollment-key": { type: "string" },
  count: { type: "string" },
  state: { type: "string" },
  ramp: { type: "string" },
  interval: { type: "string" },
  logs: { type: "string" },
  events: { type: "string" },
  rotate: { type: "string" },
  "no-channel": { type: "boolean" },
  os: { type: "string" },
  "agent-version": { type: "string" },
  "watchdog-version": { type: "string" },
  "helper-version": { type: "string" },
  update: { type: "string" },
  "update-percent": { type: "string" },
  restart: { type: "string" },
  "release-keys": { type: "string" },
  "release-root": { type: "string" },
  hostname: { type: "string" },
  misbehave: { type: "string" },
  duration: { type: "string" },
  figures: { type: "string" },
  connections: { type: "string" },
  help: { type: "boolean" },
} as const;

/** The options of a command line; "help" when that was requested. Throws an Error that names what is wrong. */
export function readOptions(args: readonly string[]): SimOptions | "help" {
  const { values } = parseArgs({ args: [...args], options: names, strict: true, allowPositionals: false });
  if (values.help) return "help";
  const number = (name: keyof typeof names, otherwise: number, min: number, max: number): number => {
    const text = values[name];
    if (typeof text !== "string") return otherwise;
    const value = Number(text);
    if (text.trim() === "" || !Number.isFinite(value) || value < min || value > max) {
      throw new Error(`--${name} must be a number from ${min} to ${max}`);
    }
    return value;
  };
  const whole = (name: keyof typeof names, otherwise: number, min: number, max: number) =>
    Math.floor(number(name, otherwise, min, max));
  const oneOf = <T extends string>(name: keyof typeof names, otherwise: T, allowed: readonly T[]): T => {
    const text = values[name] ?? otherwise;
    const found = allowed.find((each) => each === text);
    if (found === undefined) throw new Error(`--${name} must be one of ${allowed.join(", ")}`);
    return found;
  };
  const url = values.url ?? "http://localhost:3000";
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    throw new Error("--url must be an http or https URL");
  return {
    url: url.replace(/\/+$/, ""),
    enrollmentKey: values["enrollment-key"] ?? null,
    count: whole("count", 1, 1, 50_000),
    stateFile: values.state ?? ".muster/agent-sim.jsonl",
    ramp: number("ramp", 50, 0.1, 10_000),
    intervalSeconds: values.interval === undefined ? null : number("interval", 60, 0.5, 3_600),
    logsSeconds: number("logs", 60, 0, 86_400),
    eventsSeconds: number("events", 120, 0, 86_400),
    rotateSeconds: number("rotate", 0, 0, 31_536_000),
    channel: !values["no-channel"],
    os: oneOf("os", "windows", ["windows", "linux", "darwin", "mixed"]),
    agentVersion: values["agent-version"] ?? "1.0.0",
    watchdogVersion: values["watchdog-version"] ?? null,
    helperVersion: values["helper-version"] ?? null,
    hostname: values.hostname ?? "sim",
    durationSeconds: values.duration === undefined ? null : number("duration", 0, 1, 31_536_000),
    figuresSeconds: number("figures", 5, 0.5, 3_600),
    connections: whole("connections", 64, 1, 4_096),
    misbehave: oneOf("misbehave", "normal", ["normal", "silent", "slow", "garbage"]),
    update: oneOf("update", "ok", scenarioNames),
    updatePercent: number("update-percent", 100, 0, 100),
    restartSeconds: number("restart", 2, 0, 600),
    releaseKeys: keysOf(values["release-keys"] ?? ""),
    releaseRoot: whole("release-root", 1, 1, Number.MAX_SAFE_INTEGER),
  };
}

function keysOf(text: string): string[] {
  const keys = text.split(",").filter((each) => each.trim() !== "");
  for (const key of keys) {
    try {
      parseVerifier(key);
    } catch (error) {
      throw new Error(`--release-keys: ${messageOf(error)}`, { cause: error });
    }
  }
  return keys;
}

/** The options of an empty command line. */
export const defaultOptions = readOptions([]) as SimOptions;
