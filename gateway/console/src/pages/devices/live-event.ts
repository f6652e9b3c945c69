import type { components } from "@muster/client";

/** An event as it stands in a log on the device. */
export type LiveEvent = components["schemas"]["LiveEvent"];
