import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { DatabaseUrls } from "./database.ts";
import type { Keys } from "./keys.ts";
import { Problem } from "./problem.ts";

export type PrepareDatabase = (adminUrl: string, keys: Pick<Keys, "rolePasswords">) => Promise<DatabaseUrls>;

export type DatabaseTask =
  | { kind: "prepare"; adminUrl: string; rolePasswords: Keys["rolePasswords"] }
  | { kind: "migrate"; database: DatabaseUrls };

/** A `problem` is for the person at the terminal, an `error` has a stack. */
export type DatabaseReply = { result?: DatabaseUrls | null; problem?: string; error?: string };

export type DatabaseWork = {
  prepare: PrepareDatabase;
  /** Applies every service's migrations. Throws a `Problem` that names the service and what was wrong. */
  migrate(database: DatabaseUrls): Promise<void>;
  end(): void;
};

/**
 * Runs roles and migrations in a child process, which ends with `end` or with this process: the supervisor would keep
 * 20 MB of packages that it needs for a second. Tasks come one after the other.
 */
export function startDatabaseWork(): DatabaseWork {
  const script = fileURLToPath(new URL("../dist/database-worker.js", import.meta.url));
  // A signal to the supervisor's group reaches the supervisor alone, which then stops in order.
  const child = fork(script, { detached: true, stdio: ["ignore", "inherit", "inherit", "ipc"] });
  let ended: string | null = null;
  let fail: (error: Error) => void = () => undefined;
  const end = (how: string) => {
    ended ??= how;
    fail(new Error(`The process that prepares the database ended: ${ended}`));
  };
  child.once("error", (error) => end(error.message));
  child.once("exit", (code, by) => end(by ? `killed by ${by}` : `exit status ${code}`));

  const ask = (task: DatabaseTask) =>
    new Promise<DatabaseUrls | null>((resolve, reject) => {
      fail = reject;
      if (ended !== null) end(ended);
      else {
        child.once("message", ({ result, problem, error }: DatabaseReply) => {
          if (result !== undefined) resolve(result);
          else reject(problem === undefined ? new Error(error) : new Problem(problem));
        });
        child.send(task, (error) => {
          if (error) end(error.message);
        });
      }
    });

  return {
    prepare: async (adminUrl, { rolePasswords }) =>
      (await ask({ kind: "prepare", adminUrl, rolePasswords })) as DatabaseUrls,
    migrate: async (database) => void (await ask({ kind: "migrate", database })),
    end: () => child.disconnect(),
  };
}
