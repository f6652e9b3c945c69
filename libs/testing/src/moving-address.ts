import { connect, createServer, type Socket } from "node:net";
import { type Listening, listening } from "./listening.ts";

export type MovingAddress = Listening & {
  /** Closes every connection that goes through it. */
  disconnect(): void;
};

/** A loopback port that forwards each connection to the port that `target` names then. */
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
    // The last bytes of the target still arrive.
    outbound.on("close", () => inbound.destroySoon());
    inbound.pipe(outbound).pipe(inbound);
  });
  const disconnect = () => {
    for (const inbound of inbounds) inbound.destroy();
  };
  return { ...(await listening(server)), disconnect };
}
