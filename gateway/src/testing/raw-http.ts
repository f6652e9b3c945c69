import { connect, type Socket } from "node:net";

export type RawReply = { status: number; headers: Map<string, string>; text: string; json: Record<string, unknown> };

const deadlineMs = 10_000;

/** Writes exactly these bytes and resolves with all replies once the server has ended the connection. */
export function rawReplies(port: number, bytes: string | Buffer): Promise<RawReply[]> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1");
    const chunks: Buffer[] = [];
    const timer = setTimeout(() => {
      socket.destroy();
      reject(new Error(`no end of the connection within ${deadlineMs} ms; got ${Buffer.concat(chunks)}`));
    }, deadlineMs);
    socket.on("data", (chunk) => chunks.push(chunk));
    socket.on("error", (error: NodeJS.ErrnoException) => {
      // The server may close while the client still writes; the data it sent before counts.
      if (error.code !== "ECONNRESET" && error.code !== "EPIPE") reject(error);
    });
    socket.on("close", () => {
      clearTimeout(timer);
      resolve(parseReplies(Buffer.concat(chunks).toString("utf8")));
    });
    socket.write(bytes);
  });
}

/** One request on its own connection: the given request line and header lines, and `Connection: close`. */
export async function rawRequest(port: number, lines: string[], body = ""): Promise<RawReply> {
  const [reply] = await rawReplies(port, `${[...lines, "Connection: close"].join("\r\n")}\r\n\r\n${body}`);
  if (!reply) throw new Error("the connection ended without a reply");
  return reply;
}

/** A connection held open, for slow and pipelined clients. */
export function openSocket(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1", () => resolve(socket));
    socket.once("error", reject);
  });
}

export function parseReplies(text: string): RawReply[] {
  const replies: RawReply[] = [];
  let rest = text;
  while (rest.startsWith("HTTP/1.1 ")) {
    const headEnd = rest.indexOf("\r\n\r\n");
    const [statusLine = "", ...headerLines] = rest.slice(0, headEnd).split("\r\n");
    const headers = new Map(
      headerLines.map((line) => [
        line.slice(0, line.indexOf(":")).toLowerCase(),
        line.slice(line.indexOf(":") + 1).trim(),
      ]),
    );
    const status = Number(statusLine.split(" ")[1]);
    const after = Buffer.from(rest.slice(headEnd + 4));
    const length = status === 100 ? 0 : Number(headers.get("content-length") ?? 0);
    const body = after.subarray(0, length).toString("utf8");
    rest = after.subarray(length).toString("utf8");
    if (status === 100) continue;
    let json: Record<string, unknown> = {};
    if (headers.get("content-type")?.includes("json") && body !== "")
      json = JSON.parse(body) as Record<string, unknown>;
    replies.push({ status, headers, text: body, json });
  }
  return replies;
}
