import { type MigrationDir, migrate } from "@muster/db";
import { createLogger, databaseUrl, loadConfig, serviceSettings } from "@muster/kit";
import { z } from "zod";

const settings = z.object({
  DATABASE_URL: databaseUrl().describe("PostgreSQL as the schema's owner."),
  LOG_LEVEL: serviceSettings.LOG_LEVEL,
});

/**
 * `main.js migrate`: applies the service's migrations and ends. A supervisor that starts a service this way first (the
 * local stack, an init container) need not give the owner's credentials to the process that serves.
 */
export async function migrateOnly(service: string, dirs: readonly MigrationDir[]): Promise<void> {
  let log = createLogger(service);
  // Under a supervisor: a closed channel means that the supervisor has ended. PostgreSQL takes back what was not
  // committed.
  const leave = () => process.exit(1);
  if (process.send) process.on("disconnect", leave);
  try {
    if (process.send && !process.connected) leave();
    const config = loadConfig(settings);
    log = createLogger(service, config.LOG_LEVEL);
    await migrate({ url: config.DATABASE_URL, service, dirs: [...dirs], log });
    log.info("migrated");
  } catch (err) {
    log.fatal({ err }, "migration failed");
    process.exitCode = 1;
  } finally {
    process.off("disconnect", leave);
    if (process.connected) process.disconnect?.();
  }
}
