import type { Database } from "@muster/db";
import { gauge, keepWorking, type Logger, type Repeating, setByHealth } from "@muster/kit";
import { asService } from "../rules/as-service.ts";
import { directoryHealth } from "../rules/directory/directory-health.ts";
import { providerHealth } from "../rules/sso/provider-health.ts";
import { countKeptProviders, everyDirectory, watchedProviders } from "../store/attention.ts";

type Deps = { db: Database; now: () => Date };

const everyMs = 60_000;
/** Providers that are read because they may be failing; beyond these, all count as healthy. */
const watchedMax = 10_000;
const providersGauge = gauge("muster_identity_sso_providers", "Identity providers, by health.", ["health"]);
const directoriesGauge = gauge("muster_identity_directories", "Directories, by health.", ["health"]);

/** Counts providers and directories by health, until stopped. */
export function startHealthGauges({ log, ...deps }: Deps & { log: Logger }): Repeating {
  return keepWorking(
    everyMs,
    () => measureHealth(deps),
    (err) => log.warn({ err }, "the health of providers and directories cannot be measured now"),
  );
}

/** Sets both gauges once. */
export async function measureHealth({ db, now }: Deps): Promise<void> {
  const [at, who] = [now(), asService()];
  const watched = await db.inOneBatch(who, (tx) => watchedProviders(tx, who, null, watchedMax, at), { readOnly: true });
  const statuses = watched.map((row) => providerHealth(row, row.failed, at).status);
  const others = Math.max(0, (await countKeptProviders(db, who)) - statuses.length);
  setByHealth(providersGauge, [...statuses, ...Array<"healthy">(others).fill("healthy")]);
  const directories = await everyDirectory(db, who);
  setByHealth(
    directoriesGauge,
    directories.map((row) => directoryHealth(row).status),
  );
}
