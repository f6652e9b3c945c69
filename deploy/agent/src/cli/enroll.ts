import fs from "node:fs";
import type { ReadStream } from "node:tty";
import { createStopping } from "@muster/agent";
import type { Config } from "../config.ts";
import { readStored, writeDurably } from "../durable.ts";
import { AgentError, exitCodes } from "../exit-codes.ts";
import { holderOf } from "../folder-lock.ts";
import type { Status } from "../hosts/host-status.ts";
import { prepareFolder } from "../identity-file.ts";
import { pathsOf } from "../paths.ts";

const keyForm = /^[0-9a-f]{64}$/i;
const waitMs = 30_000;
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
  writeDurably(paths.enrollmentKey, key);
  // The agent reads it as the folder's owner.
  if (process.getuid?.() === 0) fs.chownSync(paths.enrollmentKey, uid, gid);
  if (at >= 0) fs.rmSync(args[at + 1] ?? "", { force: true });
  fs.rmSync(paths.identity, { force: true });
  const running = holderOf(paths.agentLock);
  if (running) process.kill(running.pid, "SIGTERM");
  if (holderOf(paths.watchdogLock) === null) {
    process.stdout.write("The key is stored; the agent enrolls when its service starts.\n");
    return exitCodes.ok;
  }
  return waitForOnline(paths.status, Date.now());
}

async function waitForOnline(path: string, sinceMs: number): Promise<number> {
  const { pause } = createStopping();
  while (Date.now() - sinceMs < waitMs) {
    const status = readStored<Status>(path);
    if (Date.parse(status?.lastHeartbeatAt ?? "") >= sinceMs) {
      process.stdout.write("online\n");
      return exitCodes.ok;
    }
    await pause(200);
  }
  throw new AgentError(exitCodes.failed, `not online within ${waitMs / 1000} s: run "muster-agent doctor"`);
}

/** From a file, the environment or the terminal, never from an argument: those are shown to every user of a machine. */
async function keyFrom(file: string | null): Promise<string> {
  if (file !== null) return fs.readFileSync(file, "utf8");
  const { MUSTER_ENROLLMENT_KEY: key } = process.env;
  if (key) return key;
  const { isTTY } = process.stdin;
  if (!isTTY) throw new AgentError(exitCodes.usage, "name --key-file FILE, or set MUSTER_ENROLLMENT_KEY");
  process.stderr.write("Enrollment key: ");
  return hiddenLine(process.stdin as ReadStream);
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
