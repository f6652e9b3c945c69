import type { Socket } from "node:net";

const preface = "PRI";

/**
 * Tells HTTP/2 with prior knowledge ("PRI", RFC 9113 section 3.3) from HTTP/1.1 by the first three bytes, puts them
 * back and hands the socket over. A connection that stays silent for `timeoutMs`, or ends before, is destroyed.
 */
export function sniff(socket: Socket, timeoutMs: number, handOver: (protocol: "http1" | "http2") => void): void {
  const timer = setTimeout(() => socket.destroy(), timeoutMs);
  let seen: Buffer = Buffer.alloc(0);
  const onData = (chunk: Buffer) => {
    seen = seen.length === 0 ? chunk : Buffer.concat([seen, chunk]);
    if (seen.length < preface.length) return;
    clearTimeout(timer);
    socket.off("data", onData);
    socket.off("end", destroy);
    socket.off("error", destroy);
    socket.pause();
    socket.unshift(seen);
    handOver(seen.toString("latin1", 0, preface.length) === preface ? "http2" : "http1");
  };
  const destroy = () => socket.destroy();
  socket.on("data", onData);
  socket.on("end", destroy);
  socket.on("error", destroy);
  socket.on("close", () => clearTimeout(timer));
}
