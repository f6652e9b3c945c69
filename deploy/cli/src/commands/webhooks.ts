import { connect } from "../connection.ts";
import { done } from "../failure.ts";
import type { Globals, Io } from "../io.ts";
import { show } from "./records.ts";

/** Sends a delivery again, also a delivered one; shows the new one. */
export async function resend(io: Io, id: string, deliveryId: string, options: Globals): Promise<void> {
  const { muster } = connect(io, options);
  const init = { params: { path: { id, deliveryId } } };
  const reply = await done(muster.POST("/api/v1/webhooks/{id}/deliveries/{deliveryId}/resend", init));
  show(io, options, reply.delivery);
}
