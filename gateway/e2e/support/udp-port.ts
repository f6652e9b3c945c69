import { createSocket } from "node:dgram";

/** A port of 127.0.0.1 for datagrams. Ports of `freePort` do not serve: the claim of one is a socket for datagrams. */
export function freeUdpPort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const socket = createSocket("udp4");
    socket.once("error", reject);
    socket.bind(0, "127.0.0.1", () => {
      const { port } = socket.address();
      socket.close(() => resolve(port));
    });
  });
}
