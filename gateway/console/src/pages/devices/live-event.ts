import type { components } from "@muster/client";

/** An event as a log on the device holds it. */
export type LiveEvent = components["schemas"]["LiveEvent"];
