import { whole } from "@muster/kit";

export const version = "0.1.0";
export const migrations = new URL("../migrations/", import.meta.url);

export const settings = {
  HEARTBEAT_INTERVAL_SECONDS: whole(60, 1, 3_600).describe(
    "Seconds between the heartbeats of an agent; a device that missed three is offline.",
  ),
};
