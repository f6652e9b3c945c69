import { coupled, packageVersion, whole } from "@muster/kit";

export const version = packageVersion(import.meta.url);
export const migrations = new URL("../migrations/", import.meta.url);

export const settings = {
  HEARTBEAT_INTERVAL_SECONDS: coupled(
    whole(60, 1, 3_600).describe("Seconds between the heartbeats of an agent; a device that missed three is offline."),
    { shared: true },
  ),
  TENANT_PURGE_DAYS: whole(30, 1, 3_650).describe(
    "Days after the deletion of an organization or partner until all services delete its data permanently.",
  ),
};
