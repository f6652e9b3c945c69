import { coupled, packageVersion, whole } from "@muster/kit";

export const version = packageVersion(import.meta.url);
export const migrations = new URL("../migrations/", import.meta.url);

export const settings = {
  HEARTBEAT_INTERVAL_SECONDS: coupled(
    whole(60, 1, 3_600).describe("Seconds between the heartbeats of an agent; a device that missed three is offline."),
    { shared: true },
  ),
  METRICS_HISTORY_DAYS: whole(90, 7, 3_650).describe(
    "Days that the history of devices' metrics is kept; beyond it whole weeks are deleted.",
  ),
  METRICS_HISTORY_DEVICES_MAX: whole(200_000, 1, 10_000_000).describe(
    "Devices with metrics of the current hour in the memory of a process, about 0.5 KB each; those of others are left out of the history.",
  ),
  TENANT_PURGE_DAYS: whole(30, 1, 3_650).describe(
    "Days after the deletion of an organization or partner until all services delete its data permanently.",
  ),
};
