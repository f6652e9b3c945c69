import { readFileSync } from "node:fs";
import { createServer as createHttp, type RequestListener } from "node:http";
import { createServer as createHttps } from "node:https";
import { createServer as createTcp, type Server, type Socket } from "node:net";
import type { TlsOptions } from "node:tls";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterEach, describe, expect, it } from "@jest/globals";
import { listening, testCaFile, testCertificate } from "@muster/testing";
import { openEgress, profiles } from "./egress.ts";
import { parseExceptions } from "./exceptions.ts";

const name = "hooks.example.test";
const timeoutMs = 1_500;
const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function portOf(server: Server): Promise<number> {
  const { port, close } = await listening(server);
  closing.push(close);
  return port;
}

function poster(port: number, scheme: "http" | "https") {
  const origin = `${scheme}://${name}:${port}`;
  const exceptions = parseExceptions(`${origin}=127.0.0.1`, "test");
  const egress = openEgress({ profile: "webhook", exceptions, ca: readFileSync(testCaFile, "utf8") });
  closing.push(() => egress.close());
  return async () =>
    egress.send(await egress.check(`${origin}/hook`), {
      method: "POST",
      headers: ["content-type", "application/json"],
      body: Buffer.from("{}"),
      timeoutMs,
      keepBytes: 4_096,
      drainBytes: 65_536,
    });
}

const answers: RequestListener = (_request, response) => response.end("ok");
const secure = (options: TlsOptions) => createHttps({ ...testCertificate(), ...options }, answers);
const old = { minVersion: "TLSv1", ciphers: "DEFAULT@SECLEVEL=0" } as const;

describe("a receiver with TLS", () => {
  it("receives deliveries when its certificate holds", async () => {
    expect(await poster(await portOf(secure({})), "https")()).toMatchObject({ status: 200, error: null });
  });

  it("receives deliveries by version 1.2", async () => {
    const port = await portOf(secure({ maxVersion: "TLSv1.2" }));
    expect(await poster(port, "https")()).toMatchObject({ status: 200, error: null });
  });

  it.each<[string, () => Server, RegExp]>([
    ["is expired", () => secure(testCertificate("expired")), /^TLS failed: the certificate has expired/],
    ["is self-signed", () => secure(testCertificate("self-signed")), /^TLS failed: the certificate is self-signed/],
    ["is for another name", () => secure(testCertificate("other-name")), /^TLS failed: the certificate is for another/],
    ["speaks TLS 1.1 at most", () => secure({ ...old, maxVersion: "TLSv1.1" }), /^TLS failed: .* no TLS 1.2 or newer/],
    ["speaks TLS 1.0 alone", () => secure({ ...old, maxVersion: "TLSv1" }), /^TLS failed: .* no TLS 1.2 or newer/],
    ["is plain HTTP on that port", () => createHttp(answers), /^TLS failed: .* does not speak TLS/],
    ["is another protocol", () => createTcp((socket) => socket.write("220 smtp\r\n")), /^TLS failed: .* not speak TLS/],
  ])("is refused at once when it %s, and the error names the cause", async (_what, server, message) => {
    const result = await poster(await portOf(server()), "https")();
    expect(result).toMatchObject({ status: null, error: { code: "tls", message: expect.stringMatching(message) } });
    expect(result.totalMs).toBeLessThan(timeoutMs);
  });

  it("is given up in time when it never ends its handshake, with an error about the connection", async () => {
    const result = await poster(await portOf(createTcp(() => undefined)), "https")();
    expect(result.error).toMatchObject({
      code: "timeout",
      message: expect.stringMatching(/waiting for a connection$/),
    });
    expect(result.totalMs).toBeLessThan(2 * timeoutMs);
  });
});

describe("receivers that never stop", () => {
  it("end within 30 s for webhooks, whatever their kind", () => {
    expect(profiles.webhook.timeoutMs).toBeLessThanOrEqual(30_000);
  });

  it.each<[string, (socket: Socket) => void]>([
    ["an endless body", (socket) => endless(socket, "HTTP/1.1 200 OK\r\n\r\n", Buffer.alloc(65_536, "y"))],
    [
      "a body in endless chunks",
      (socket) => endless(socket, chunked, Buffer.from(`10000\r\n${"y".repeat(65_536)}\r\n`)),
    ],
    [
      "headers without end",
      (socket) => endless(socket, "HTTP/1.1 200 OK\r\n", Buffer.from("x-a: yyyyyyyyyyyyyyyy\r\n".repeat(3_000))),
    ],
    ["a status line without end", (socket) => endless(socket, "HTTP/1.1 200 ", Buffer.alloc(65_536, "y"))],
    [
      "one answer after the other",
      (socket) => endless(socket, "", Buffer.from("HTTP/1.1 100 Continue\r\n\r\n".repeat(2_500))),
    ],
  ])("64 at a time with %s take memory of a bound, and end in time", async (_what, onData) => {
    const port = await portOf(createTcp((socket) => void socket.once("data", () => onData(socket))));
    const post = poster(port, "http");
    const before = bytesHeld();
    let most = 0;
    const timer = setInterval(() => {
      most = Math.max(most, bytesHeld() - before);
    }, 100);
    const results = await Promise.all(Array.from({ length: 64 }, post));
    clearInterval(timer);
    // Half of it may be what this process, as the receiver, has not got rid of.
    expect(most).toBeLessThan(64 * 1_048_576);
    for (const result of results) {
      expect(result.body.length).toBeLessThanOrEqual(4_096);
      // In time even where sender and receivers share a machine with other work: without a limit it would be never.
      expect(result.totalMs).toBeLessThan(10 * timeoutMs);
      expect([result.status, result.error?.code]).not.toEqual([null, undefined]);
    }
  });
});

const chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

/** Sends for as long as the other side takes it. */
function endless(socket: Socket, head: string, piece: Buffer): void {
  const more = () => {
    while (!socket.destroyed && socket.write(piece));
  };
  socket.on("drain", () => setImmediate(more));
  socket.write(head);
  more();
}

/** What is in use, not what waits for its collection. */
function bytesHeld(): number {
  collect();
  const { heapUsed, external, arrayBuffers } = process.memoryUsage();
  return heapUsed + external + arrayBuffers;
}
