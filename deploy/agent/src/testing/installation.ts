import { createHash } from "node:crypto";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { AcceptedOffer, Offer } from "@muster/agent";
import { type Paths, pathsOf, programName } from "../paths.ts";

/** An installation in a folder of its own, whose programs are scripts. */
export type Installation = {
  folder: string;
  paths: Paths;
  /** Installs a version beside the others. Returns its folder as links hold it. */
  addVersion(version: string, script: string): string;
  /** Lets current and previous lead to versions. */
  link(current: string, previous?: string): void;
  remove(): void;
};

export function newInstallation(): Installation {
  const folder = mkdtempSync(join(tmpdir(), "muster-agent-"));
  const paths = pathsOf({ programFolder: folder, stateFolder: join(folder, "state") });
  mkdirSync(paths.versions);
  mkdirSync(paths.stateFolder, { mode: 0o700 });
  return {
    folder,
    paths,
    addVersion(version, script) {
      const sha256 = digest(script);
      const target = paths.folderOf(version, sha256);
      mkdirSync(join(folder, target));
      writeFileSync(join(folder, target, programName), script);
      chmodSync(join(folder, target, programName), 0o755);
      const release = { version, size: Buffer.byteLength(script), sha256, counter: 1, component: "agent" };
      writeFileSync(join(folder, target, "release.json"), JSON.stringify(release));
      return target;
    },
    link(current, previous) {
      symlinkSync(current, paths.links.agent.current);
      symlinkSync(current, paths.links.watchdog.current);
      if (previous !== undefined) symlinkSync(previous, paths.links.agent.previous);
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

export const digest = (bytes: string | Buffer) => createHash("sha256").update(bytes).digest("hex");

/** An offer of a file, and what its manifest says. */
export function offerOf(version: string, bytes: Buffer, change: Partial<AcceptedOffer["artifact"]> = {}) {
  const file = { os: "linux", arch: "amd64", size: bytes.length, sha256: digest(bytes), name: "muster-agent" };
  const offer: Offer = {
    attemptId: "a1",
    component: "agent",
    version,
    url: "https://muster.example/file",
    size: bytes.length,
    sha256: digest(bytes),
    manifest: null,
    rootNotes: [],
    rollbackNote: null,
  };
  return { offer, accepted: { counter: 4, artifact: { ...file, ...change } } };
}

/** A program that says its version, as the agent does. */
export const saying = (version: string, more = "") =>
  `#!/bin/sh\nif [ "$1" = --version ]; then echo "muster-agent ${version} (key)"; exit; fi\n${more}\n`;
