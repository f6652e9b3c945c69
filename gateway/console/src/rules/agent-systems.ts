import { systemName } from "./system-name.ts";

type AgentFile = { os: string; arch: string; libc: string; version: string };

/** The systems for which an agent is promoted, each with its versions and their architectures. */
export function agentSystems(files: readonly AgentFile[]): (readonly [system: string, builds: string])[] {
  const systems = new Map<string, Map<string, string[]>>();
  for (const { os, arch, libc, version } of files) {
    const versions = systems.get(os) ?? new Map<string, string[]>();
    systems.set(os, versions);
    versions.set(version, [...(versions.get(version) ?? []), libc === "musl" ? `${arch} (musl)` : arch]);
  }
  return [...systems].map(([os, versions]) => [
    systemName(os),
    [...versions].map(([version, builds]) => `${version} for ${builds.join(", ")}`).join("; "),
  ]);
}
