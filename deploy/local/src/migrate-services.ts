import { join } from "node:path";
import { startChild } from "./child.ts";
import { root } from "./config.ts";
import type { DatabaseUrls } from "./database.ts";
import { Problem } from "./problem.ts";
import { mergeEnvironment } from "./programs.ts";
import { serviceNames } from "./replicas.ts";

/**
 * Applies every service's migrations, each in a short process of its own with the owner's credentials: the processes that serve
 * never have them. Throws a `Problem` that names the service and what was wrong.
 */
export async function migrateServices(database: DatabaseUrls, dataDir: string): Promise<void> {
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
      });
      const end = await run.ended;
      if (end !== "exit status 0") throw new Problem(`${name} could not be migrated: ${end} (see ${logFile})`);
    }),
  );
}
