import { realpathSync } from "node:fs";
import { basename, dirname, join } from "node:path";

export type Paths = ReturnType<typeof pathsOf>;

/** A semantic version: nothing else becomes part of a path. */
const versionForm = /^(0|[1-9]\d{0,8})(\.(0|[1-9]\d{0,8})){2}(-[0-9A-Za-z.-]{1,30})?$/;

export const isVersion = (text: string): boolean => versionForm.test(text) && !text.includes("..");

/**
 * Every path of an installation.
 *
 *     <program>/versions/1.4.0-0123456789ab/         a proved version: the version and the digest of its program
 *     …/muster-agent, release.json                   the executable; its size, digest and the counter of its manifest
 *     <program>/versions/….unverified/               what is downloaded and not proved
 *     <program>/current, previous                    links to the versions of the agent
 *     <program>/watchdog, watchdog-previous          links to the versions of the watchdog
 *     <state>/identity.json                          id, token, counters, keys
 *     <state>/update.json                            the update that is in progress
 *     <state>/alive.json, watchdog.json              the version that works: of the agent, of the watchdog
 *     <state>/status.json                            what `muster-agent status` shows
 *     <state>/machine.json                           ids that root alone can read, read by the installer
 *     <state>/enrollment.key                         key of the next enrollment, and a line that makes it another one
 *                                                    than the last; removed after it
 *     <state>/agent.lock, watchdog.lock              process that uses this folder
 *     <state>/spool/events, spool/logs               what waits to be sent
 *     <state>/cursor.json                            how far the system's log was read
 *     <state>/agent.log, agent.log.1                 the agent's own log
 */
export function pathsOf({ programFolder, stateFolder }: { programFolder: string; stateFolder: string }) {
  const program = (name: string) => join(programFolder, name);
  const state = (name: string) => join(stateFolder, name);
  return {
    programFolder,
    stateFolder,
    versions: program("versions"),
    /** Folder of a version, relative to `programFolder` as the links hold it. Throws on what is no version. */
    folderOf(version: string, sha256: string): string {
      if (!isVersion(version) || !/^[0-9a-f]{64}$/.test(sha256)) throw new Error(`"${version}" is no version`);
      return join("versions", `${version}-${sha256.slice(0, 12)}`);
    },
    links: {
      agent: { current: program("current"), previous: program("previous") },
      watchdog: { current: program("watchdog"), previous: program("watchdog-previous") },
    },
    identity: state("identity.json"),
    update: state("update.json"),
    alive: { agent: state("alive.json"), watchdog: state("watchdog.json") },
    status: state("status.json"),
    machine: state("machine.json"),
    enrollmentKey: state("enrollment.key"),
    agentLock: state("agent.lock"),
    watchdogLock: state("watchdog.lock"),
    eventSpool: state("spool/events"),
    logSpool: state("spool/logs"),
    cursor: state("cursor.json"),
    log: state("agent.log"),
  };
}

export const programName = process.platform === "win32" ? "muster-agent.exe" : "muster-agent";

/** Folder of the installation whose version this program is; null for a program elsewhere. */
export function installationOf(execPath: string): string | null {
  const version = dirname(realpathSync(execPath));
  const versions = dirname(version);
  return basename(versions) === "versions" ? dirname(versions) : null;
}
