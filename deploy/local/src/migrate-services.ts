import { join } from "node:path";
import { migrate } from "@muster/db";
import { createLogger } from "@muster/kit";
import { tenantMigrations } from "@muster/service";
import { root } from "./config.ts";
import type { DatabaseUrls } from "./database.ts";
import { Problem } from "./problem.ts";
import { type ServiceName, serviceNames } from "./replicas.ts";

const waitMs = 30_000;
/** Every service but the one whose tenants the others copy; a wrong set of folders fails that service's own check. */
const copiesTenants = (name: ServiceName) => name !== "tenancy";

/**
 * Applies every service's migrations with the owners' credentials, all in this process: the processes that serve never
 * have them, and six short processes cost more than the migrations. Throws a `Problem` that names the service
 * and what was wrong.
 */
export async function migrateServices(database: DatabaseUrls): Promise<void> {
  await Promise.all(
    serviceNames.map(async (name) => {
      const own = { label: name, path: join(root, "services", name, "migrations") };
      const dirs = copiesTenants(name) ? [tenantMigrations, own] : [own];
      const log = createLogger(name, "warn");
      try {
        await migrate({ url: database.owner[name], service: name, dirs, log, waitMs });
      } catch (cause) {
        const why = cause instanceof Error ? cause.message : String(cause);
        throw new Problem(`${name} could not be migrated: ${why}`, { cause });
      }
    }),
  );
}
