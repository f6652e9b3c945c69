import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";

type Last = { request: IncomingMessage; response: ServerResponse };

/** The newest request of each connection of a server. */
export type NewestRequests = {
  /** The newest request of a connection, and its response. */
  last(socket: Duplex): Last | undefined;
  /** Calls back once every request so far on a connection has been answered, or the connection has closed. */
  afterLast(socket: Duplex, then: () => void): void;
};

/**
 * Notes the newest request of each connection: replies outside of Node's own order wait for it here.
 */
export function trackNewestRequests(server: Server): NewestRequests {
  const newest = new WeakMap<Duplex, Last>();
  const track = (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request;
    const state = newest.get(socket);
    if (state === undefined) newest.set(socket, { request, response });
    else {
      state.request = request;
      state.response = response;
    }
  };
  server.prependListener("request", track);
  server.prependListener("checkContinue", track);
  return {
    last: (socket) => newest.get(socket),
    afterLast(socket, then) {
      const response = newest.get(socket)?.response;
      if (response === undefined || response.writableFinished || socket.destroyed) then();
      // After Node's own listeners, which pass the connection on.
      else response.once("close", () => setImmediate(then));
    },
  };
}
