import { readFileSync } from "node:fs";
import { createServer as createTcp, type Server } from "node:net";
import { createServer as createTls, type TLSSocket } from "node:tls";
import { afterEach, describe, expect, it } from "@jest/globals";
import { listening, testCaFile, testCertificate } from "@muster/testing";
import { openEgress } from "./egress.ts";
import { parseExceptions } from "./exceptions.ts";

const name = "siem.example.test";
const ca = readFileSync(testCaFile, "utf8");
const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function sentTo(server: Server, change: { ca?: string | undefined; frames?: Buffer } = { ca }) {
  const { port, close } = await listening(server);
  closing.push(close);
  const egress = openEgress({ profile: "webhook", exceptions: parseExceptions(`${name}:${port}=127.0.0.1`, "test") });
  closing.push(() => egress.close());
  const target = await egress.check(`https://${name}:${port}`);
  return egress.sendSyslog(target, {
    frames: change.frames ?? Buffer.from("5 hello"),
    timeoutMs: 1_000,
    ca: change.ca,
  });
}

/** More than a connection holds unread. */
const many = Buffer.alloc(16 * 1024 * 1024, "5 hello");

const receiver = (on: (socket: TLSSocket) => void, allowsHalfOpen = false) =>
  createTls({ ...testCertificate(), allowHalfOpen: allowsHalfOpen }, (socket) => {
    socket.on("error", () => undefined);
    on(socket);
  });

describe("frames for a syslog receiver", () => {
  it("are sent when it has read them all and closed", async () => {
    let text = "";
    const server = receiver((socket) => {
      socket.on("data", (chunk) => {
        text += chunk;
      });
    });
    expect(await sentTo(server)).toBeNull();
    expect(text).toBe("5 hello");
  });

  it.each<[string, () => Server, string]>([
    ["reads and never closes", () => receiver((socket) => socket.resume(), true), "timeout"],
    ["never reads", () => receiver((socket) => socket.pause(), true), "timeout"],
    [
      "breaks the connection",
      () => receiver((socket) => socket.once("data", () => socket.destroy())),
      "connection_reset",
    ],
    ["does not speak TLS", () => createTcp((socket) => void socket.on("error", () => undefined).end("hello")), "tls"],
    ["accepts and says nothing", () => createTcp((socket) => void socket.on("error", () => undefined)), "timeout"],
  ])("are in doubt when it %s", async (_, server, code) => {
    const failure = await sentTo(server(), { ca, frames: many });
    expect(failure?.code).toBe(code);
  });

  it("are not sent to a certificate of another authority", async () => {
    expect(
      (
        await sentTo(
          receiver((socket) => socket.resume()),
          { ca: undefined },
        )
      )?.code,
    ).toBe("tls");
  });
});
