import { randomUUID } from "node:crypto";
import { appendFileSync, chmodSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import type { AgentIdentity } from "@muster/agent";

/** Identity of one of the simulated agents. */
export type Identity = AgentIdentity & { n: number };

/** The input of new identities. */
export type Make = { hostname: string; os: Identity["os"] | "mixed"; versions: Identity["versions"] };

export type Identities = {
  all: Identity[];
  /** Keeps an identity as it is now, before this returns: a lost token would leave a device without a working agent. */
  save(identity: Identity): void;
};

/**
 * The first `count` identities of a state file, made where they are missing. One JSON line for each change, the last
 * one of an agent counts; only its owner may read it, since it holds tokens.
 */
export function openIdentities(file: string, count: number, make: Make): Identities {
  mkdirSync(dirname(file), { recursive: true });
  const stored = new Map<number, Identity>();
  if (existsSync(file)) {
    for (const line of readFileSync(file, "utf8").split("\n")) {
      const identity = parse(line, make);
      if (identity) stored.set(identity.n, identity);
    }
  }
  const all = Array.from({ length: count }, (_, n) => stored.get(n) ?? newIdentity(n, make));
  for (const identity of all) stored.set(identity.n, identity);
  // Rewritten at each start, so that it does not grow without limit; a crash leaves the old one.
  const text = [...stored.values()].map((identity) => `${JSON.stringify(identity)}\n`).join("");
  writeFileSync(`${file}.new`, text, { mode: 0o600 });
  chmodSync(`${file}.new`, 0o600);
  renameSync(`${file}.new`, file);
  return { all, save: (identity) => appendFileSync(file, `${JSON.stringify(identity)}\n`) };
}

/** Null for a line that was cut off by a crash. */
function parse(line: string, { versions }: Make): Identity | null {
  try {
    const value = JSON.parse(line) as Identity;
    if (typeof value?.n !== "number" || typeof value.hardwareId !== "string") return null;
    return { ...value, versions: value.versions ?? { ...versions } };
  } catch {
    return null;
  }
}

const systems = ["windows", "linux", "darwin"] as const;

function newIdentity(n: number, { hostname, os, versions }: Make): Identity {
  const system = os === "mixed" ? (systems[n % systems.length] as Identity["os"]) : os;
  return {
    n,
    hostname: `${hostname}-${n + 1}`,
    os: system,
    arch: system === "darwin" ? "arm64" : "amd64",
    hardwareId: randomUUID(),
    serialNumber: `SIM-${String(n + 1).padStart(6, "0")}`,
    agentId: null,
    orgId: null,
    token: null,
    intervalSeconds: null,
    versions: { ...versions },
  };
}
