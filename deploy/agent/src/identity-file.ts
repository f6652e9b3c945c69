import { createHash } from "node:crypto";
import fs from "node:fs";
import type { AgentIdentity } from "@muster/agent";
import { messageOf } from "@muster/kit/agent";
import { version } from "./build-info.ts";
import { readStored, textIn, writeDurably } from "./durable.ts";
import { AgentError, exitCodes } from "./exit-codes.ts";
import { machineFacts } from "./hosts/machine-facts.ts";
import type { Paths } from "./paths.ts";

/** `enrolledWith` is the digest of the key of its enrollment. */
type StoredIdentity = AgentIdentity & { enrolledWith?: string };

const nobody = { agentId: null, orgId: null, token: null, intervalSeconds: null };

export type IdentityFile = { identity: AgentIdentity; save(): void };

/**
 * The identity of this machine's agent, with the facts and versions of now. Throws an AgentError when the folder cannot
 * be used; when the file is damaged: a token must not be lost silently; and when it is another machine's, of which this
 * one is a copy: two machines with one token would be one device.
 */
export function openIdentity(paths: Paths): IdentityFile {
  prepareFolder(paths.stateFolder);
  const exists = fs.existsSync(paths.identity);
  const stored = readStored<StoredIdentity>(paths.identity);
  if (exists && stored === null) {
    throw new AgentError(exitCodes.disk, `${paths.identity} is damaged: enroll again with "muster-agent enroll"`);
  }
  const enrolledWith = digestOfKey(paths.enrollmentKey);
  // Another key is another enrollment; the same one is of an enrollment whose first heartbeat was not noted.
  const isAnother = enrolledWith !== null && stored !== null && stored.enrolledWith !== enrolledWith;
  const facts = machineFacts(paths.machine);
  if (stored?.token && !isAnother && isOfOther(stored.hardwareId, facts.hardwareId)) {
    const line = `${paths.identity} is another machine's: run \`muster-agent enroll\` with a new key`;
    throw new AgentError(exitCodes.credentialLost, line);
  }
  const watchdog = readStored<{ version: string }>(paths.alive.watchdog)?.version;
  const identity: StoredIdentity = {
    ...nobody,
    ...stored,
    ...(isAnother ? { ...nobody, oldToken: undefined } : {}),
    ...(enrolledWith === null ? {} : { enrolledWith }),
    ...facts,
    versions: { agent: version, ...(watchdog === undefined ? {} : { watchdog }) },
  };
  return { identity, save: () => writeDurably(paths.identity, JSON.stringify(identity)) };
}

/** Whether a state was stored on another machine than this one, both of which have an id. */
const isOfOther = (stored: string | undefined, own: string): boolean => Boolean(stored && own && stored !== own);

/** Of the key and of what makes its use another one; null when there is no key. */
function digestOfKey(path: string): string | null {
  const text = textIn(path).trim();
  return text === "" ? null : createHash("sha256").update(text).digest("hex");
}

/** The state folder is this user's own: nobody else reads or replaces what is in it. */
export function prepareFolder(folder: string): void {
  try {
    fs.mkdirSync(folder, { recursive: true, mode: 0o700 });
    const found = fs.lstatSync(folder);
    if (!found.isDirectory()) throw new Error("is no folder");
    const uid = process.getuid?.();
    if (uid !== undefined && uid !== 0 && found.uid !== uid) throw new Error("belongs to another user");
    if ((found.mode & 0o077) !== 0 && process.platform !== "win32") fs.chmodSync(folder, 0o700);
    fs.accessSync(folder, fs.constants.W_OK);
  } catch (error) {
    throw new AgentError(exitCodes.disk, `state folder ${folder}: ${messageOf(error)}`);
  }
}
