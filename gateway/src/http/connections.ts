import type { Server } from "node:http";
import type { Socket } from "node:net";
import { counter } from "@muster/kit";

const dropped = counter(
  "muster_gateway_connections_rejected_total",
  "Connections closed on arrival because there were too many.",
);

/** Share of the maximum number of connections from which idle ones are closed in favour of new ones. */
const fullShare = 0.9;
const closeIdleEveryMs = 1_000;

/** Bounds the connections of a server. Before any is refused those go that wait between two requests. */
export function boundConnections(server: Server, max: number): void {
  server.maxConnections = max;
  let open = 0;
  let closedIdleMs = Number.NEGATIVE_INFINITY;
  server.on("connection", (socket: Socket) => {
    open += 1;
    socket.once("close", () => {
      open -= 1;
    });
    const nowMs = performance.now();
    if (open < max * fullShare || nowMs - closedIdleMs < closeIdleEveryMs) return;
    closedIdleMs = nowMs;
    server.closeIdleConnections();
  });
  server.on("drop", () => dropped.inc());
}
