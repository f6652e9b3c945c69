import { connect, createServer, type Socket } from "node:net";
import { type Listening, listening } from "./listening.ts";

export type MovingAddress = Listening & {
  /** Cuts every connection that goes through it. */
  cut(): void;
};

/** A loopback port that hands each connection to the port that `target` names then. */
export async function movingAddress(target: () => number): Promise<MovingAddress> {
  const inbounds = new Set<Socket>();
  const server = createServer({ noDelay: true }, (inbound) => {
    const outbound = connect({ port: target(), host: "127.0.0.1", noDelay: true });
    inbounds.add(inbound);
    inbound.on("close", () => {
      inbounds.delete(inbound);
      outbound.destroy();
    });
    outbound.on("error", () => inbound.destroy());
    // What the target said last still arrives.
    outbound.on("close", () => inbound.destroySoon());
    inbound.pipe(outbound).pipe(inbound);
  });
  const cut = () => {
    for (const inbound of inbounds) inbound.destroy();
  };
  return { ...(await listening(server)), cut };
}
