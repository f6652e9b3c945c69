import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Writable } from "node:stream";
import type { ServiceImpl } from "@connectrpc/connect";
import { type Caller, createLogger, type Logger, Readiness, type RequestMeta, systemCaller, uuidv7 } from "@muster/kit";
import { SessionService } from "@muster/proto/muster/identity/v1/session_pb";
import { generateCallerKey } from "../caller/caller-keys.ts";
import { createSigner, type Signer } from "../caller/signer.ts";
import { createVerifier, type Verifier } from "../caller/verifier.ts";
import { type PortOptions, type RpcPort, servePort } from "../port/port.ts";

export type TestKeys = { directory: string; add(issuer: string): { signer: Signer; kid: string; privateKeys: string } };

/** A separate key directory; `add` creates a further key of an issuer and its signer. */
export function testKeys(): TestKeys {
  const directory = mkdtempSync(join(tmpdir(), "muster-keys-"));
  return {
    directory,
    add(issuer) {
      const key = generateCallerKey();
      mkdirSync(join(directory, issuer), { recursive: true });
      writeFileSync(join(directory, issuer, `${key.kid}.pem`), key.publicPem);
      const signer = createSigner({ issuer, privateKeys: key.privateKey });
      return { signer, kid: key.kid, privateKeys: key.privateKey };
    },
  };
}

export type TestPort = RpcPort & {
  url: string;
  readiness: Readiness;
  verifier: Verifier;
  gateway: Signer;
  /** Log lines so far. */
  logged: Record<string, unknown>[];
};

/** A port on loopback with one trusted gateway. */
export async function testPort(options: Partial<PortOptions> = {}): Promise<TestPort> {
  const keys = testKeys();
  const { signer } = keys.add("gateway");
  const verifier = createVerifier({ directory: keys.directory, service: "identity" });
  const readiness = new Readiness();
  readiness.set("ready");
  const { log, logged } = testLog();
  const port = await servePort({
    host: "127.0.0.1",
    port: 0,
    name: "identity",
    version: "1.2.3",
    services: [],
    verifier,
    log,
    readiness,
    drainDelayMs: 0,
    graceMs: 1_000,
    ...options,
  });
  return {
    port: port.port,
    drain: async () => {
      verifier.close();
      await port.drain();
      rmSync(keys.directory, { recursive: true, force: true });
    },
    url: `http://127.0.0.1:${port.port}`,
    readiness,
    verifier,
    gateway: signer,
    logged,
  };
}

/** A logger that keeps its lines. */
export function testLog(): { log: Logger; logged: Record<string, unknown>[] } {
  const logged: Record<string, unknown>[] = [];
  const log = createLogger("test", "debug");
  const streams = Object.getOwnPropertySymbols(log).filter((symbol) => symbol.description === "pino.stream");
  for (const symbol of streams) {
    (log as unknown as Record<symbol, unknown>)[symbol] = new Writable({
      write(line: Buffer, _encoding, done) {
        logged.push(JSON.parse(line.toString()) as Record<string, unknown>);
        done();
      },
    });
  }
  return { log, logged };
}

export function testUser(change: Partial<Caller> = {}): Caller {
  return {
    ...systemCaller("identity"),
    actor: { type: "user", id: uuidv7(), email: "ada@example.com", name: "Ada", role: "org-admin", department: null },
    scope: "organization",
    partnerId: uuidv7(),
    orgId: uuidv7(),
    permissions: ["organizations:read"],
    sessionId: uuidv7(),
    ...change,
  };
}

export const testMeta: RequestMeta = {
  requestId: "req-1",
  clientAddress: "192.0.2.1",
  userAgent: "test",
  traceparent: null,
};

/** A session service whose methods answer empty messages unless named. */
export function sessionImpl(
  change: Partial<ServiceImpl<typeof SessionService>> = {},
): ServiceImpl<typeof SessionService> {
  const empty = Object.fromEntries(SessionService.methods.map(({ localName }) => [localName, () => ({})]));
  return { ...empty, ...change } as ServiceImpl<typeof SessionService>;
}

export type Wire = { socket: Socket; received(): string; until(text: string): Promise<string>; closed: Promise<void> };

/** A bare TCP connection. */
export function wire(port: number): Wire {
  const socket = connect({ port, host: "127.0.0.1", noDelay: true });
  let text = "";
  const waiting = new Set<() => void>();
  const wake = () => {
    for (const check of waiting) check();
  };
  socket.on("data", (chunk) => {
    text += chunk.toString("latin1");
    wake();
  });
  socket.on("error", wake);
  const closed = new Promise<void>((resolve) => socket.on("close", () => resolve()));
  return {
    socket,
    received: () => text,
    closed,
    until: (wanted) =>
      new Promise((resolve, reject) => {
        const check = () => {
          if (!text.includes(wanted)) return;
          waiting.delete(check);
          resolve(text);
        };
        waiting.add(check);
        check();
        void closed.then(() => reject(new Error(`connection closed after ${JSON.stringify(text)}`)));
      }),
  };
}

/** A promise with its handles. */
export function deferred<T = void>(): { promise: Promise<T>; resolve(value: T): void; reject(error: unknown): void } {
  let resolve: (value: T) => void = () => {};
  let reject: (error: unknown) => void = () => {};
  const promise = new Promise<T>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  return { promise, resolve, reject };
}
