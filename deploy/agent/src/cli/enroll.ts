import { randomUUID } from "node:crypto";
import fs from "node:fs";
import type { ReadStream } from "node:tty";
import { createStopping } from "@muster/agent";
import { messageOf } from "@muster/kit/agent";
import { type Cause, causeOf } from "../causes.ts";
import type { Config } from "../config.ts";
import { readStored, writeDurably } from "../durable.ts";
import { AgentError, exitCodes } from "../exit-codes.ts";
import { holderOf } from "../folder-lock.ts";
import type { Status } from "../hosts/host-status.ts";
import { prepareFolder } from "../identity-file.ts";
import { pathsOf } from "../paths.ts";

const keyForm = /^[0-9a-f]{64}$/i;
const waitMs = 30_000;
const startMs = 5_000;
const pollMs = 200;
const ends = ["\r", "\n"];
/** What Ctrl-C sends in raw mode. */
const interrupt = "\u0003";

/** Stores a key with which the agent enrolls this machine anew, and waits until it is online. */
export async function enroll(config: Config, args: readonly string[]): Promise<number> {
  const at = args.indexOf("--key-file");
  const key = (await keyFrom(at >= 0 ? (args[at + 1] ?? "") : null)).trim();
  if (!keyForm.test(key)) throw new AgentError(exitCodes.keyRefused, "an enrollment key has 64 hexadecimal digits");
  const paths = pathsOf(config);
  prepareFolder(paths.stateFolder);
  const { uid, gid } = fs.statSync(paths.stateFolder);
  writeDurably(paths.enrollmentKey, `${key}\n${randomUUID()}\n`);
  // The agent reads it as the folder's owner.
  if (process.getuid?.() === 0) fs.chownSync(paths.enrollmentKey, uid, gid);
  if (at >= 0) removeKey(args[at + 1] ?? "");
  // What an agent before said is no longer true.
  fs.rmSync(paths.status, { force: true });
  const running = holderOf(paths.agentLock);
  if (running) process.kill(running.pid, "SIGTERM");
  if (!(await watchdogRuns(paths.watchdogLock, config.service ? startMs : 0))) {
    process.stdout.write("The key is stored; the agent enrolls when its service starts.\n");
    return exitCodes.ok;
  }
  return waitForOnline(paths.status, running?.pid ?? 0);
}

/** Whether a watchdog runs, or does so within this time: a service that was started a moment ago. */
async function watchdogRuns(lock: string, forMs: number): Promise<boolean> {
  const { pause } = createStopping();
  for (let waitedMs = 0; waitedMs <= forMs; waitedMs += pollMs) {
    if (holderOf(lock) !== null) return true;
    await pause(pollMs);
  }
  return false;
}

/** Waits for a heartbeat of another process than `before`. */
async function waitForOnline(path: string, before: number): Promise<number> {
  const endMs = Date.now() + waitMs;
  const { pause } = createStopping();
  let last: Cause | null = null;
  while (Date.now() < endMs) {
    const stored = readStored<Status>(path);
    const status = stored?.pid === before ? null : stored;
    if (status?.lastError) last = causeOf(status.lastError);
    if (last?.exitCode === exitCodes.keyRefused) throw new AgentError(last.exitCode, `${last.text}: ${last.cure}`);
    if (status?.lastHeartbeatAt) {
      process.stdout.write("online\n");
      return exitCodes.ok;
    }
    await pause(pollMs);
  }
  const late = `not online within ${waitMs / 1000} s`;
  if (last !== null) throw new AgentError(last.exitCode, `${late}: ${last.text}: ${last.cure}`);
  throw new AgentError(exitCodes.failed, `${late}: run "muster-agent doctor"`);
}

/** From a file, the environment or the terminal, never from an argument: those are shown to every user of a machine. */
async function keyFrom(file: string | null): Promise<string> {
  if (file !== null) return textOf(file);
  const { MUSTER_ENROLLMENT_KEY: key } = process.env;
  if (key) return key;
  const { isTTY } = process.stdin;
  if (!isTTY) throw new AgentError(exitCodes.usage, "name --key-file FILE, or set MUSTER_ENROLLMENT_KEY");
  process.stderr.write("Enrollment key: ");
  return hiddenLine(process.stdin as ReadStream);
}

/** The command runs as the agent's user, whose the folder of the file may not be. */
function removeKey(file: string): void {
  try {
    fs.rmSync(file, { force: true });
  } catch (error) {
    process.stderr.write(`muster-agent: ${file} stays, remove it: ${messageOf(error)}\n`);
  }
}

function textOf(file: string): string {
  try {
    return fs.readFileSync(file, "utf8");
  } catch (error) {
    throw new AgentError(exitCodes.usage, `--key-file ${file}: ${messageOf(error)}`);
  }
}

function hiddenLine(terminal: ReadStream): Promise<string> {
  terminal.setRawMode(true);
  return new Promise((resolve) => {
    let text = "";
    terminal.on("data", (chunk: Buffer) => {
      text += chunk.toString();
      if (![...ends, interrupt].some((each) => text.includes(each))) return;
      terminal.setRawMode(false);
      terminal.pause();
      process.stderr.write("\n");
      resolve(text.includes(interrupt) ? "" : text);
    });
  });
}
