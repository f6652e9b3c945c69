import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { AppError } from "@muster/kit";

export type Derivation = { password: string; salt: Buffer; keyBytes: number; logN: number; r: number; p: number };

export type HashingWorker = {
  /** Throws `unavailable` when the process ends before the reply. */
  scrypt(derivation: Derivation): Promise<Buffer>;
  /** Process id; null while there is no process. */
  pid(): number | null;
  /** Ends the process at once, also within a derivation, and resolves when it is gone. */
  close(): Promise<void>;
};

type Pending = { resolve(key: Buffer): void; reject(error: Error): void };
type Answer = { id: number; key: Uint8Array } | { id: number; error: string };

const script = fileURLToPath(new URL("../../hashing-child.mjs", import.meta.url));

/**
 * scrypt in a process of its own (`docs/decisions/0016-sign-ins-start-one-by-one-and-hash-in-a-child-process.md`),
 * started by a derivation when there is none, and ended after `idleMs` without one: its 45 MB are used only while users
 * sign in. It does not keep its parent process alive.
 */
export function hashingWorker(threads: number, idleMs = 60_000): HashingWorker {
  const pending = new Map<number, Pending>();
  let child: ChildProcess | null = null;
  let resting: NodeJS.Timeout | undefined;
  let last = 0;

  const rest = () => {
    child?.disconnect();
    child = null;
  };

  const start = (): ChildProcess => {
    const started = fork(script, [], {
      serialization: "advanced",
      execArgv: [],
      // The process inherits neither the service's settings nor the tests' loader.
      env: { PATH: process.env.PATH, UV_THREADPOOL_SIZE: String(threads) },
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    });
    const ended = (cause?: Error) => {
      if (child !== started) return;
      child = null;
      const failure = new AppError("unavailable", "Service is temporarily unavailable", {
        cause,
        retryAfterSeconds: 1,
      });
      for (const { reject } of pending.values()) reject(failure);
      pending.clear();
    };
    started.once("error", ended);
    started.once("exit", () => ended());
    started.on("message", (message) => {
      const answer = message as Answer;
      const waiting = pending.get(answer.id);
      pending.delete(answer.id);
      if (pending.size === 0) {
        started.channel?.unref();
        resting = setTimeout(rest, idleMs).unref();
      }
      if ("key" in answer) waiting?.resolve(Buffer.from(answer.key));
      else waiting?.reject(new Error(`scrypt failed: ${answer.error}`));
    });
    started.unref();
    return started;
  };

  return {
    scrypt(derivation) {
      clearTimeout(resting);
      child ??= start();
      const worker = child;
      const id = ++last;
      return new Promise((resolve, reject) => {
        pending.set(id, { resolve, reject });
        worker.channel?.ref();
        // A failure to send is followed by the end of the process.
        worker.send({ id, ...derivation }, () => undefined);
      });
    },
    pid: () => child?.pid ?? null,
    async close() {
      clearTimeout(resting);
      const ending = child;
      if (!ending || ending.exitCode !== null || ending.signalCode !== null) return;
      ending.ref();
      ending.kill("SIGKILL");
      await once(ending, "exit");
    },
  };
}
