import type { Database } from "@muster/db";
import { gauge, keepWorking, type Logger, type Repeating, setByHealth } from "@muster/kit";
import { asService } from "../rules/as-service.ts";
import { directoryHealth } from "../rules/directory/directory-health.ts";
import { providerHealth } from "../rules/sso/provider-health.ts";
import { countKeptProviders, doubtfulProviders, everyDirectory } from "../store/attention.ts";
import { failedSignIns } from "../store/sso/attempts.ts";

type Deps = { db: Database; now: () => Date };

const everyMs = 60_000;
/** Providers that are read because they may be failing; beyond these, all count as healthy. */
const doubtfulMax = 10_000;
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
  const doubtful = await doubtfulProviders(db, who, null, doubtfulMax, at);
  const failed = await db.tx(who, (tx) => failedSignIns(tx, doubtful), { readOnly: true });
  const statuses = doubtful.map((row) => providerHealth(row, failed.get(row.id) ?? null, at).status);
  const others = Math.max(0, (await countKeptProviders(db, who)) - statuses.length);
  setByHealth(providersGauge, [...statuses, ...Array<"healthy">(others).fill("healthy")]);
  const directories = await everyDirectory(db, who);
  setByHealth(
    directoriesGauge,
    directories.map((row) => directoryHealth(row).status),
  );
}
