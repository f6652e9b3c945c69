import { readFileSync } from "node:fs";
import { createServer as createHttp } from "node:http";
import { createServer as createHttps } from "node:https";
import { connect, createServer as createTcp, type Server, type Socket } from "node:net";
import { createServer as createTls } from "node:tls";
import { afterEach, describe, expect, it } from "@jest/globals";
import { listening, testCaFile, testCertificate } from "@muster/testing";
import { type EgressOptions, openEgress } from "./egress.ts";
import { parseExceptions } from "./exceptions.ts";
import { parseForwardProxy } from "./forward-proxy.ts";
import { createResolver } from "./resolver.ts";

const name = "hooks.example.test";
const ca = readFileSync(testCaFile, "utf8");
const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function portOf(server: Server): Promise<number> {
  const { port, close } = await listening(server);
  closing.push(close);
  return port;
}

/** A proxy that opens tunnels, and the heads of the requests that it got. */
async function startProxy() {
  const heads: string[] = [];
  const port = await portOf(
    createTcp((client) => {
      client
        .on("error", () => undefined)
        .once("data", (head) => {
          heads.push(head.toString());
          const [, host = "", to = ""] = /^CONNECT \[?(.+?)\]?:(\d+) /.exec(head.toString()) ?? [];
          const receiver: Socket = connect(Number(to), host, () => {
            client.write("HTTP/1.1 200 Connection established\r\n\r\n");
            client.pipe(receiver).pipe(client);
          });
          receiver.on("error", () => client.end("HTTP/1.1 502 Bad Gateway\r\n\r\n"));
        });
    }),
  );
  return { port, heads };
}

const request = {
  ...{ method: "POST" as const, headers: ["content-type", "application/json"], body: Buffer.from("{}") },
  ...{ timeoutMs: 3_000, keepBytes: 4_096, drainBytes: 65_536 },
};

/** Posts to `scheme://name:port/` through the proxy, once for each of `count`. */
async function post(url: string, proxy: string, change: Partial<EgressOptions> = {}, count = 1) {
  const exceptions = parseExceptions(`${new URL(url).origin}=127.0.0.1`, "test");
  const egress = openEgress({ profile: "webhook", exceptions, ca, proxy: parseForwardProxy(proxy), ...change });
  closing.push(() => egress.close());
  const exchanges = [];
  for (let n = 0; n < count; n += 1) exchanges.push(await egress.send(await egress.check(url), request));
  return exchanges;
}

describe("a forward proxy", () => {
  it("gets one CONNECT to the checked address, and TLS is spoken with the receiver", async () => {
    const receiver = await portOf(createHttps(testCertificate(), (_request, response) => void response.end("ok")));
    const { port, heads } = await startProxy();
    const url = `https://${name}:${receiver}/hook`;
    const [first, second] = await post(url, `http://u%3Ame:p%40ss@127.0.0.1:${port}`, {}, 2);
    expect(first).toMatchObject({ status: 200, error: null, remoteAddress: "127.0.0.1", reused: false });
    expect(second).toMatchObject({ status: 200, reused: true });
    const authorization = `Basic ${Buffer.from("u:me:p@ss").toString("base64")}`;
    expect(heads).toEqual([
      `CONNECT 127.0.0.1:${receiver} HTTP/1.1\r\nHost: 127.0.0.1:${receiver}\r\nProxy-Authorization: ${authorization}\r\n\r\n`,
    ]);
  });

  it("carries plain HTTP to a receiver of tests, too", async () => {
    const receiver = await portOf(createHttp((_request, response) => void response.writeHead(201).end()));
    const { port, heads } = await startProxy();
    const [exchange] = await post(`http://${name}:${receiver}/hook`, `http://127.0.0.1:${port}`);
    expect(exchange).toMatchObject({ status: 201, error: null });
    expect(heads).toHaveLength(1);
  });

  it("is reached by TLS itself where its URL says so", async () => {
    const receiver = await portOf(createHttps(testCertificate(), (_request, response) => void response.end("ok")));
    const { port: plain } = await startProxy();
    const proxy = await portOf(
      createTls(testCertificate(), (client) => {
        const inner = connect(plain, "127.0.0.1");
        client.pipe(inner).pipe(client);
        for (const each of [client, inner]) each.on("error", () => undefined);
      }),
    );
    const before = process.env.NODE_EXTRA_CA_CERTS;
    const [exchange] = await post(`https://${name}:${receiver}/hook`, `https://localhost:${proxy}`);
    // The system's authorities alone count for a proxy: those of tests are known to whole processes only.
    expect(exchange?.error?.code ?? "none").toBe(before === testCaFile ? "none" : "proxy");
  });

  it("never resolves a name: it gets the address of ours, and none that is not public", async () => {
    const { port, heads } = await startProxy();
    const through = async (addresses: string[]) => {
      const resolver = createResolver(async () => ({ addresses, ttlSeconds: 60 }));
      const egress = openEgress({ profile: "webhook", resolver, proxy: parseForwardProxy(`http://127.0.0.1:${port}`) });
      closing.push(() => egress.close());
      const target = { url: "https://rebind.example.com/" };
      return egress.check(target.url).then((checked) => egress.send(checked, { ...request, timeoutMs: 300 }));
    };
    await expect(through(["10.0.0.1"])).rejects.toMatchObject({ reason: "resolves_to_private" });
    expect(heads).toEqual([]);
    await through(["2606:4700::1111"]);
    expect(heads[0]).toMatch(/^CONNECT \[2606:4700::1111\]:443 HTTP\/1\.1\r\n/);
  });

  it("gets no request when a name turns private between check and dial", async () => {
    const { port, heads } = await startProxy();
    const answers = [["8.8.8.8"], ["127.0.0.1"]];
    let clock = 0;
    const lookup = async () => ({ addresses: answers.shift() ?? ["127.0.0.1"], ttlSeconds: 5 });
    const resolver = createResolver(lookup, () => (clock += 6_000));
    const egress = openEgress({ profile: "webhook", resolver, proxy: parseForwardProxy(`http://127.0.0.1:${port}`) });
    closing.push(() => egress.close());
    const exchange = await egress.send(await egress.check("https://rebind.example.com/"), request);
    expect(exchange).toMatchObject({ status: null, error: { code: "unsafe_url" } });
    expect(heads).toEqual([]);
  });

  it("vouches for no receiver: its certificate is verified as without a proxy", async () => {
    const receiver = await portOf(
      createHttps(testCertificate("self-signed"), (_request, response) => void response.end()),
    );
    const { port } = await startProxy();
    const [exchange] = await post(`https://${name}:${receiver}/hook`, `http://127.0.0.1:${port}`);
    expect(exchange).toMatchObject({ status: null, error: { code: "tls" } });
  });

  it.each<[string, (client: Socket) => void, string]>([
    ["refuses", (client) => void client.end("HTTP/1.1 403 Forbidden\r\n\r\n"), "The forward proxy answered 403"],
    ["wants a password", (client) => void client.end("HTTP/1.1 407 X\r\n\r\n"), "The forward proxy answered 407"],
    ["is no proxy", (client) => void client.end("SSH-2.0-x\r\n\r\n"), "The forward proxy's answer is not HTTP"],
    ["ends", (client) => void client.end(), "The forward proxy ended the connection"],
    [
      "sends too much",
      (client) => void client.end("HTTP/1.1 200 OK\r\n\r\nmore"),
      "The forward proxy sent more than its answer",
    ],
    [
      "never ends its head",
      (client) => void client.write(`HTTP/1.1 200 OK\r\n${"x: y\r\n".repeat(3_000)}`),
      "The forward proxy's answer is not HTTP",
    ],
  ])("fails the attempt in words when it %s", async (_, answer, message) => {
    const port = await portOf(
      createTcp((client) => void client.on("error", () => undefined).once("data", () => answer(client))),
    );
    const [exchange] = await post(`https://${name}:9443/hook`, `http://127.0.0.1:${port}`);
    expect(exchange).toMatchObject({ status: null, error: { code: "proxy", message } });
  });

  it("fails the attempt in words when it is away or silent", async () => {
    const { port, close } = await listening(createTcp());
    await close();
    const [away] = await post(`https://${name}:9443/hook`, `http://127.0.0.1:${port}`);
    expect(away?.error).toEqual({ code: "proxy", message: "The forward proxy cannot be reached" });
    const silent = await portOf(createTcp((client) => void client.on("error", () => undefined)));
    const [exchange] = await post(`https://${name}:9443/hook`, `http://127.0.0.1:${silent}`);
    expect(exchange?.error?.code).toBe("timeout");
  });
});

describe("the URL of a forward proxy", () => {
  it("has a scheme and a host, and defaults of its scheme", () => {
    expect(parseForwardProxy("")).toBeNull();
    expect(parseForwardProxy("http://proxy.example:3128")).toMatchObject({
      port: 3128,
      isTls: false,
      authorization: null,
    });
    expect(parseForwardProxy("https://proxy.example/")).toMatchObject({ port: 443, isTls: true });
    expect(parseForwardProxy("http://[2001:db8::1]:3128")).toMatchObject({ host: "2001:db8::1" });
  });

  it.each(["proxy:3128", "socks5://proxy", "http://proxy/path", "http://proxy?x", "//proxy", "http://u:%zz@proxy"])(
    "is refused without its text: %s",
    (text) => {
      expect(() => parseForwardProxy(text)).toThrow("must be http[s]://[user:password@]host[:port]");
    },
  );
});
