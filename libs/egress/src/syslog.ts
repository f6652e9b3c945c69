import { isIP } from "node:net";
import { connect, type TLSSocket } from "node:tls";
import { parseAddress } from "./address.ts";
import { type Failure, failureOf } from "./failure.ts";
import { checkedLookup, pinnedLookup } from "./pools.ts";
import { EgressRefused } from "./refused.ts";
import type { Resolver } from "./resolver.ts";
import type { Target } from "./validate-url.ts";

export type SyslogRequest = {
  target: Target;
  resolver: Resolver;
  isPermitted: (address: Uint8Array) => boolean;
  /** PEM of the authority that the certificate must come from instead of the system's. */
  ca: string | undefined;
  /** Frames of RFC 5425, in one piece. */
  frames: Buffer;
  /** Milliseconds over connecting, sending and the receiver's end together. */
  timeoutMs: number;
  signal?: AbortSignal;
};

/**
 * Sends frames to a syslog receiver over TLS (RFC 5425), and waits until it closes in turn: it has read everything
 * then. Resolves to null, or to why that is in doubt; never throws.
 */
export function sendSyslog(request: SyslogRequest): Promise<Failure | null> {
  const { target, resolver, isPermitted, ca, frames, timeoutMs, signal } = request;
  return new Promise((resolve) => {
    const port = Number(target.url.port || 443);
    const lookup = target.pinned === null ? checkedLookup(resolver) : pinnedLookup(target.pinned);
    const host = target.host;
    const socket: TLSSocket = connect({
      host,
      port,
      lookup,
      minVersion: "TLSv1.2",
      ...(isIP(host) ? {} : { servername: host }),
      ...(ca === undefined ? {} : { ca }),
    });
    const settle = (failure: Failure | null) => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", aborted);
      socket.destroy();
      resolve(failure);
    };
    const timer = setTimeout(() => {
      const waitedFor = socket.authorized ? "the receiver to close" : "a connection";
      settle({ code: "timeout", message: `Timed out after ${timeoutMs / 1_000} s waiting for ${waitedFor}` });
    }, timeoutMs);
    const aborted = () => settle({ code: "aborted", message: "Ended before the receiver closed" });
    signal?.addEventListener("abort", aborted);
    socket.on("error", (error) => settle(failureOf(error)));
    socket.once("secureConnect", () => {
      const address = parseAddress(socket.remoteAddress ?? "");
      if (target.pinned === null && !(address && isPermitted(address))) {
        return settle(failureOf(new EgressRefused("address_not_public")));
      }
      socket.end(frames);
    });
    // Its end counts when ours had left before: it has read everything then.
    let hasEnded = false;
    socket.once("end", () => {
      hasEnded = socket.writableFinished;
    });
    // What it answers means nothing; unread, its end would never come.
    socket.resume();
    socket.once("close", () =>
      settle(
        hasEnded ? null : { code: "connection_reset", message: "The connection broke before everything was read" },
      ),
    );
  });
}
