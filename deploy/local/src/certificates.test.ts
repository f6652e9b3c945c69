import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { Agent } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect } from "node:tls";
import { createClient } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport } from "@connectrpc/connect-node";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { createLogger, Readiness, sleep, tlsFiles } from "@muster/kit";
import { Health, HealthCheckResponse_ServingStatus } from "@muster/proto/grpc/health/v1/health_pb";
import { ProbeService } from "@muster/proto/muster/common/v1/probe_pb";
import { createTransport, createVerifier, type RpcPort, servePort } from "@muster/rpc";
import { type Certificates, clusterCertificates, rotateCertificates } from "./certificates.ts";

const names = { ca: "RPC_TLS_CA_PATH", cert: "RPC_TLS_CERT_PATH", key: "RPC_TLS_KEY_PATH" };
const log = createLogger("test", "error");
let folder: string;
let certificates: Certificates;
let port: RpcPort;
let baseUrl: string;

const tlsOf = (name: string, of: Certificates = certificates) => tlsFiles({ ca: of.ca, ...of.of(name) }, names);
const pemOf = (name: string, of: Certificates = certificates) => {
  const { cert, key } = of.of(name);
  return { ca: readFileSync(of.ca), cert: readFileSync(cert), key: readFileSync(key) };
};

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "muster-certificates-"));
  certificates = await clusterCertificates(join(folder, "tls"), ["tenancy", "gateway"]);
  const readiness = new Readiness();
  readiness.set("ready");
  port = await servePort({
    name: "tenancy",
    version: "test",
    host: "127.0.0.1",
    port: 0,
    services: [],
    verifier: createVerifier({ directory: mkdtempSync(join(folder, "callers-")), service: "tenancy", log }),
    log,
    readiness,
    drainDelayMs: 0,
    graceMs: 500,
    tls: tlsOf("tenancy"),
  });
  baseUrl = `https://127.0.0.1:${port.port}`;
});

afterAll(async () => {
  await port?.drain();
  rmSync(folder, { recursive: true, force: true });
});

const echo = async (transport: Parameters<typeof createClient>[1]) =>
  (await createClient(ProbeService, transport).echo({ message: "over TLS" })).message;

/** The first message of a stream, which its signal ends. */
async function streamed(transport: Parameters<typeof createClient>[1]): Promise<string> {
  const leaving = new AbortController();
  const watched = createClient(Health, transport).watch({}, { signal: leaving.signal })[Symbol.asyncIterator]();
  const { value } = await watched.next();
  leaving.abort();
  return HealthCheckResponse_ServingStatus[value?.status] ?? "nothing";
}

describe("mutual TLS between processes", () => {
  it("carries unary calls and streams, and those of the stock clients", async () => {
    const transport = createTransport({ baseUrls: [baseUrl], tls: tlsOf("gateway") });
    expect(await echo(transport)).toBe("over TLS");
    expect(await streamed(transport)).toBe("SERVING");
    await transport.close();
    const nodeOptions = pemOf("gateway");
    expect(await echo(createGrpcTransport({ baseUrl, nodeOptions }))).toBe("over TLS");
    expect(await echo(createConnectTransport({ baseUrl, nodeOptions, httpVersion: "1.1" }))).toBe("over TLS");
    expect(await echo(createConnectTransport({ baseUrl, nodeOptions, httpVersion: "2" }))).toBe("over TLS");
  });

  it("refuses a client without a certificate, and one of another authority", async () => {
    const { ca } = pemOf("gateway");
    const others = await clusterCertificates(join(folder, "others"), ["gateway"]);
    for (const identity of [{}, { ...pemOf("gateway", others) }]) {
      const socket = connect({ ...identity, ca, port: port.port, host: "127.0.0.1", ALPNProtocols: ["http/1.1"] });
      const ended = new Promise<string>((resolve) => {
        socket.once("error", ({ message }) => resolve(message));
        socket.once("close", () => resolve("closed"));
      });
      // With TLS 1.3 a client notices the refusal when it reads: its writes are not answered.
      socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
      expect(await ended).toMatch(/alert|ECONNRESET|closed/);
    }
  });

  it("refuses a server that shows a certificate of another authority", async () => {
    const others = await clusterCertificates(join(folder, "strangers"), ["gateway"]);
    const transport = createTransport({ baseUrls: [baseUrl], tls: tlsOf("gateway", others), patienceMs: 0 });
    await expect(echo(transport)).rejects.toThrow("unavailable");
    await transport.close();
  });

  it("does not begin with a URL that disagrees with the settings", () => {
    expect(() => createTransport({ baseUrls: [baseUrl] })).toThrow(/RPC_TLS_CA_PATH/);
    expect(() => createTransport({ baseUrls: ["http://127.0.0.1:1"], tls: tlsOf("gateway") })).toThrow(
      /127\.0\.0\.1:1: must be https/,
    );
  });

  it("goes on without a failed call while authority and certificates are replaced", async () => {
    const transport = createTransport({ baseUrls: [baseUrl], tls: tlsOf("gateway"), clientTtlMs: 50 });
    const before = pemOf("gateway");
    let going = true;
    let calls = 0;
    const calling = (async () => {
      for (; going; calls += 1) {
        await echo(transport);
        if (calls % 10 === 0) await streamed(transport);
      }
    })();
    // Files are looked at once a second; as long as that certificates are trusted before they are shown.
    await rotateCertificates(join(folder, "tls"), ["tenancy", "gateway"], async () => {
      await sleep(1_500);
    });
    const callsThen = calls;
    await sleep(1_500);
    going = false;
    await calling;
    expect(calls).toBeGreaterThan(callsThen);
    await transport.close();

    // A new connection: one that was opened before the change stays usable.
    const nodeOptions = { ...before, agent: new Agent() };
    const withOld = createConnectTransport({ baseUrl, nodeOptions, httpVersion: "1.1" });
    await expect(echo(withOld)).rejects.toThrow();
    expect(pemOf("gateway").cert).not.toEqual(before.cert);
  });

  it("keeps certificates that are good, and makes those that are missing", async () => {
    const before = pemOf("tenancy");
    const again = await clusterCertificates(join(folder, "tls"), ["tenancy", "audit"]);
    expect(pemOf("tenancy", again)).toEqual(before);
    expect(() => tlsOf("audit", again)).not.toThrow();
  });
});
