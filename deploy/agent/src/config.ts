import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fieldsOf, messageOf, parseVerifier } from "@muster/kit/agent";
import { AgentError, exitCodes } from "./exit-codes.ts";
import { installationOf } from "./paths.ts";

/** Settings of an installation, from its config file. */
export type Config = {
  file: string;
  /** Base URL of the platform, without a trailing slash. */
  url: string;
  programFolder: string;
  stateFolder: string;
  /** PEM file of certificates that are trusted, in addition to the system's. */
  caFile: string | null;
  /** Lowest level of the agent's own log that is sent. */
  logLevel: "debug" | "info" | "warn" | "error";
  /**
   * Where event logs come from: the system (journald, the unified log of a Mac, the event log of Windows), a file in
   * the form of syslog, or nowhere.
   */
  eventLogs: "system" | "none" | { file: string };
  /** Labels of the device, sent with the enrollment. */
  labels: Record<string, string>;
  /** Verifier keys of release manifests, instead of those that were built in. */
  rootKeys: string[];
  /** Seconds between heartbeats that replace the platform's; null for the platform's. */
  heartbeatSeconds: number | null;
  /** Days after which the token is exchanged; 0: never. */
  rotateTokenDays: number;
  /** Whether a service manager starts the watchdog again. */
  service: boolean;
};

const levels = ["debug", "info", "warn", "error"] as const;
const fields = [
  "url",
  "stateFolder",
  "programFolder",
  "caFile",
  "logLevel",
  "eventLogs",
  "labels",
  "rootKeys",
  "heartbeatSeconds",
  "rotateTokenDays",
  "service",
];

const systemFile =
  process.platform === "win32" ? "C:\\ProgramData\\muster-agent\\config.json" : "/etc/muster-agent/config.json";

/** The config file of this installation: the one beside its versions, else the system's. */
export function configFile(execPath = process.execPath): string {
  const folder = installationOf(execPath);
  const beside = folder === null ? null : join(folder, "config.json");
  return beside !== null && existsSync(beside) ? beside : systemFile;
}

/** Reads and validates a config file. Throws an AgentError that names its errors. */
export function readConfig(file: string): Config {
  let json: unknown;
  try {
    json = JSON.parse(readFileSync(file, "utf8"));
  } catch (error) {
    const why = error instanceof SyntaxError ? `is not JSON: ${error.message}` : `cannot be read: ${messageOf(error)}`;
    throw new AgentError(exitCodes.config, `${file} ${why}`);
  }
  const errors: string[] = [];
  const config = parseConfig(file, json, errors);
  if (errors.length > 0) throw new AgentError(exitCodes.config, `${file}: ${errors.join("; ")}`);
  return config;
}

function parseConfig(file: string, json: unknown, errors: string[]): Config {
  const members = fieldsOf(json);
  if (members !== json) errors.push("is not an object");
  for (const name of Object.keys(members).filter((each) => !fields.includes(each))) {
    errors.push(`"${name}" is no setting${hintFor(name)}`);
  }
  const text = (name: string, otherwise: string): string => {
    const value = members[name] ?? otherwise;
    if (typeof value === "string") return value;
    errors.push(`"${name}" must be a text`);
    return otherwise;
  };
  const home = dirname(file);
  const isOwn = file !== systemFile;
  const logLevel = levels.find((each) => each === (members.logLevel ?? "info"));
  if (logLevel === undefined) errors.push(`"logLevel" must be one of ${levels.join(", ")}`);
  return {
    file,
    url: urlIn(text("url", ""), errors),
    programFolder: text("programFolder", isOwn ? home : "/opt/muster-agent"),
    stateFolder: text("stateFolder", isOwn ? join(home, "state") : "/var/lib/muster-agent"),
    caFile: text("caFile", "") || null,
    logLevel: logLevel ?? "info",
    eventLogs: eventLogsIn(members.eventLogs, errors),
    labels: labelsIn(members.labels, errors),
    rootKeys: keysIn(members.rootKeys, errors),
    heartbeatSeconds: numberIn(members, "heartbeatSeconds", { least: 1, most: 3_600 }, errors),
    rotateTokenDays: numberIn(members, "rotateTokenDays", { least: 0, most: 365 }, errors) ?? 30,
    service: members.service !== false,
  };
}

function urlIn(text: string, errors: string[]): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^https?:$/.test(url.protocol)) errors.push('"url" must be an https URL');
  else if (url.protocol === "http:" && !isLoopback(url.hostname))
    errors.push('"url" must be https: http is for loopback');
  else if (url.username !== "" || url.search !== "") errors.push('"url" must have no credential and no query');
  return text.replace(/\/+$/, "");
}

export const isLoopback = (host: string): boolean => /^(localhost|127(\.\d+){3}|\[::1\])$/.test(host);

function eventLogsIn(value: unknown, errors: string[]): Config["eventLogs"] {
  if (value === undefined || value === "system" || value === "journal") return "system";
  if (value === "none") return "none";
  const file = (value as { file?: unknown } | null)?.file;
  if (typeof file === "string" && file.startsWith("/")) return { file };
  errors.push('"eventLogs" must be "system", "none" or {"file": "/path"}');
  return "none";
}

function labelsIn(value: unknown, errors: string[]): Record<string, string> {
  const all = Object.entries(value ?? {});
  const isWrong =
    all.length > 20 || all.some(([name, text]) => name.length > 63 || typeof text !== "string" || text.length > 255);
  if (isWrong) errors.push('"labels" must be at most 20 texts of at most 255 characters');
  return isWrong ? {} : (Object.fromEntries(all) as Record<string, string>);
}

function keysIn(value: unknown, errors: string[]): string[] {
  const keys = Array.isArray(value) ? value.map(String) : [];
  if (value !== undefined && !Array.isArray(value)) errors.push('"rootKeys" must be a list');
  for (const key of keys) {
    try {
      parseVerifier(key);
    } catch (error) {
      errors.push(`"rootKeys": ${messageOf(error)}`);
    }
  }
  return keys;
}

function numberIn(
  members: Readonly<Record<string, unknown>>,
  name: string,
  { least, most }: { least: number; most: number },
  errors: string[],
): number | null {
  const value = members[name];
  if (value === undefined || value === null) return null;
  if (typeof value === "number" && value >= least && value <= most) return value;
  errors.push(`"${name}" must be a number from ${least} to ${most}`);
  return null;
}

/** The setting that was meant, by its first letters in any case. */
function hintFor(name: string): string {
  const start = name
    .toLowerCase()
    .replaceAll(/[^a-z]/g, "")
    .slice(0, 4);
  const meant = start === "" ? undefined : fields.find((each) => each.toLowerCase().startsWith(start));
  return meant ? `, "${meant}" is one` : "";
}
