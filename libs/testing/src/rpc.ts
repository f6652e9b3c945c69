import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DescService } from "@bufbuild/protobuf";
import { type Client, createClient } from "@connectrpc/connect";
import { type Caller, createLogger, Readiness, type RequestMeta, uuidv7 } from "@muster/kit";
import {
  callOptions,
  createSigner,
  createTransport,
  createVerifier,
  generateCallerKey,
  issuers,
  type Registration,
  type Signer,
  servePort,
} from "@muster/rpc";

export type TestPort = {
  baseUrl: string;
  /**
   * A client whose calls carry the caller, as if they came from the gateway, or from the service that the caller is.
   */
  client<S extends DescService>(service: S, caller: Caller, meta?: Partial<RequestMeta>): Client<S>;
  close(): Promise<void>;
};

/** Serves RPC handlers on a real port, with its own caller keys. */
export async function testPort(name: string, services: Registration[]): Promise<TestPort> {
  const log = createLogger(`test-${name}`, "error");
  const directory = await mkdtemp(join(tmpdir(), "muster-keys-"));
  const signers = new Map<string, Signer>();
  for (const issuer of Object.keys(issuers)) {
    const key = generateCallerKey();
    await mkdir(join(directory, issuer));
    await writeFile(join(directory, issuer, `${key.kid}.pem`), key.publicPem);
    signers.set(issuer, createSigner({ issuer, privateKeys: key.privateKey }));
  }
  const tokenFor = async (caller: Caller): Promise<string> => {
    const issuer = caller.actor.type === "system" ? caller.actor.id : "gateway";
    const signer = signers.get(issuer);
    if (!signer) throw new Error(`no service is called ${issuer}`);
    return signer.tokenFor(caller, name);
  };
  const readiness = new Readiness();
  readiness.set("ready");
  const verifier = createVerifier({ directory, service: name, log });
  const port = await servePort({
    name,
    version: "test",
    host: "127.0.0.1",
    port: 0,
    services,
    verifier,
    log,
    readiness,
    drainDelayMs: 0,
    graceMs: 1_000,
  });
  const baseUrl = `http://127.0.0.1:${port.port}`;
  const transport = createTransport({ baseUrls: [baseUrl] });
  return {
    baseUrl,
    client(service, caller, meta = {}) {
      const plain = createClient(service, transport) as Record<string, (request: unknown, options: unknown) => unknown>;
      const withCaller = async (method: string, request: unknown) => {
        const options = callOptions({
          caller: { token: await tokenFor(caller) },
          meta: { requestId: uuidv7(), clientAddress: "192.0.2.7", userAgent: "test", traceparent: null, ...meta },
          deadlineMs: null,
        });
        return plain[method]?.(request, options);
      };
      async function* streamed(method: string, request: unknown) {
        yield* (await withCaller(method, request)) as AsyncIterable<unknown>;
      }
      const isStream = (method: string) => service.method[method]?.methodKind === "server_streaming";
      return new Proxy(plain, {
        get: (_target, method: string) => (request: unknown) =>
          isStream(method) ? streamed(method, request) : withCaller(method, request),
      }) as never;
    },
    async close() {
      await port.drain();
      verifier.close();
      await (transport as { close?: () => Promise<void> }).close?.();
      await rm(directory, { recursive: true, force: true });
    },
  };
}
