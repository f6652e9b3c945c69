import { join } from "node:path";
import { startChild } from "./child.ts";
import { root } from "./config.ts";
import type { DatabaseUrls } from "./database.ts";
import { Problem } from "./problem.ts";
import { mergeEnvironment } from "./programs.ts";
import { serviceNames } from "./replicas.ts";

const graceMs = 2_000;

/**
 * Applies every service's migrations, each in a short process of its own with the owner's credentials: the processes that serve
 * never have them. They end with the launcher, and when `stopping` is aborted. Throws a `Problem` that names the service and what was wrong.
 */
export async function migrateServices(
  database: DatabaseUrls,
  dataDir: string,
  stopping: AbortSignal = new AbortController().signal,
): Promise<void> {
  await Promise.all(
    serviceNames.map(async (name) => {
      const logFile = join(dataDir, "logs", `${name}.log`);
      const run = await startChild({
        program: process.execPath,
        args: [
          "--enable-source-maps",
          join(root, "services", name, "dist", "main.js"),
          "migrate",
          `--stack=${dataDir}`,
        ],
        cwd: join(root, "services", name),
        env: mergeEnvironment(process.env, { DATABASE_URL: database.owner[name] }),
        logFile,
        // The channel by which it notices that the launcher is gone.
        onMessage: () => undefined,
      });
      const stop = () => void run.stop(graceMs);
      if (stopping.aborted) stop();
      stopping.addEventListener("abort", stop, { once: true });
      const end = await run.ended;
      stopping.removeEventListener("abort", stop);
      if (end !== "exit status 0") throw new Problem(`${name} could not be migrated: ${end} (see ${logFile})`);
    }),
  );
}
