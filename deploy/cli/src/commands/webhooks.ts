import type { EventName } from "@muster/client";
import { connect } from "../connection.ts";
import { done, wrongUsage } from "../failure.ts";
import type { Globals, Io } from "../io.ts";
import { show } from "./records.ts";

/** Sends a delivery again, also a delivered one; shows the new one. */
export async function resend(io: Io, id: string, deliveryId: string, options: Globals): Promise<void> {
  const { muster } = connect(io, options);
  const init = { params: { path: { id, deliveryId } } };
  const reply = await done(muster.POST("/api/v1/webhooks/{id}/deliveries/{deliveryId}/resend", init));
  show(io, options, reply.delivery);
}

export type ReplayOptions = Globals & {
  since: string;
  until?: string;
  status: string;
  events?: string;
  dryRun?: boolean;
};

const statuses = ["failed", "delivered", "all", "missing"] as const;

/** Sends earlier events of a webhook again, or counts them; shows the replay. */
export async function replay(io: Io, id: string, options: ReplayOptions): Promise<void> {
  const { since, until, status, events, dryRun = false } = options;
  const deliveryStatus = statuses.find((each) => each === status);
  if (!deliveryStatus) throw wrongUsage(`--status takes ${statuses.join(", ")}, not "${status}"`);
  const { muster } = connect(io, options);
  const types = events ? { events: events.split(",") as Exclude<EventName, "*" | `${string}.*`>[] } : {};
  const body = { since, deliveryStatus, dryRun, ...(until ? { until } : {}), ...types };
  show(io, options, await done(muster.POST("/api/v1/webhooks/{id}/replay", { params: { path: { id } }, body })));
}
