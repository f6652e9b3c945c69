import type { AddressInfo, Server, Socket } from "node:net";

export type Listening = {
  port: number;
  /** Ends its connections, whatever they wait for, and the server. */
  close(): Promise<void>;
};

/** Has a server listen on a loopback port, a free one unless it is named; broken connections are ignored. */
export async function listening(server: Server, port = 0): Promise<Listening> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.once("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
