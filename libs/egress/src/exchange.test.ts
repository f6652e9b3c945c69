import { createServer as createHttp, type RequestListener, type ServerResponse } from "node:http";
import { createServer as createTcp, type Server, type Socket } from "node:net";
import { gzipSync } from "node:zlib";
import { afterEach, describe, expect, it } from "@jest/globals";
import { listening } from "@muster/testing";
import { type Egress, openEgress } from "./egress.ts";
import { parseExceptions } from "./exceptions.ts";
import type { ExchangeRequest } from "./exchange.ts";
import { guardedFetch, guardedRequest } from "./fetch.ts";
import { createResolver } from "./resolver.ts";

const name = "hooks.example.test";
const closing: (() => Promise<unknown> | unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function portOf(server: Server): Promise<number> {
  const { port, close } = await listening(server);
  closing.push(close);
  return port;
}

const http = (listener: RequestListener) => portOf(createHttp(listener));
const tcp = (onConnection: (socket: Socket) => void) => portOf(createTcp({ allowHalfOpen: true }, onConnection));

function egressTo(port: number, profile: "webhook" | "release" | "sso" = "webhook"): Egress {
  const egress = openEgress({ profile, exceptions: parseExceptions(`http://${name}:${port}=127.0.0.1`, "test") });
  closing.push(() => egress.close());
  return egress;
}

async function post(port: number, change: Partial<ExchangeRequest> = {}, egress = egressTo(port)) {
  const target = await egress.check(`http://${name}:${port}/hook?a=1`);
  return egress.send(target, {
    method: "POST",
    headers: ["content-type", "application/json"],
    body: Buffer.from('{"a":1}'),
    timeoutMs: 700,
    keepBytes: 4_096,
    drainBytes: 65_536,
    ...change,
  });
}

describe("one exchange", () => {
  it("sends the body once and hands back status, headers and body; the next one reuses the connection", async () => {
    const seen: string[] = [];
    const port = await http((request, response) => {
      request.on("data", (chunk: Buffer) => seen.push(`${request.method} ${request.url} ${chunk.toString()}`));
      request.on("end", () => response.writeHead(201, { "retry-after": "7" }).end("done"));
    });
    const egress = egressTo(port);
    const first = await post(port, {}, egress);
    expect(first).toMatchObject({
      status: 201,
      error: null,
      reused: false,
      remoteAddress: "127.0.0.1",
      truncated: false,
    });
    expect([first.body.toString(), first.headers["retry-after"]]).toEqual(["done", "7"]);
    const second = await post(port, {}, egress);
    expect(second).toMatchObject({ status: 201, reused: true });
    expect(seen).toEqual(['POST /hook?a=1 {"a":1}', 'POST /hook?a=1 {"a":1}']);
  });

  it("follows no redirect", async () => {
    let requests = 0;
    const port = await http((_request, response) => {
      requests += 1;
      response.writeHead(307, { location: "http://169.254.169.254/" }).end();
    });
    expect(await post(port)).toMatchObject({ status: 307, error: null });
    expect(requests).toBe(1);
  });

  it.each<[string, (socket: Socket) => void, string]>([
    ["answers nothing", () => undefined, "timeout"],
    ["resets", (socket) => socket.once("data", () => socket.resetAndDestroy()), "connection_reset"],
    ["ends without an answer", (socket) => socket.once("data", () => socket.end()), "connection_reset"],
    ["does not speak HTTP", (socket) => socket.once("data", () => socket.write("220 smtp ready\r\n")), "bad_response"],
    [
      "sends headers without end",
      (socket) =>
        socket.once("data", () => {
          socket.write("HTTP/1.1 200 OK\r\n");
          const timer = setInterval(() => socket.write(`x-a: ${"b".repeat(1_000)}\r\n`), 1);
          socket.once("close", () => clearInterval(timer));
        }),
      "bad_response",
    ],
    [
      "drips its headers",
      (socket) =>
        socket.once("data", () => {
          socket.write("HTTP/1.1 200 OK\r\n");
          const timer = setInterval(() => socket.write("x"), 50);
          socket.once("close", () => clearInterval(timer));
        }),
      "timeout",
    ],
  ])("ends in time when the receiver %s", async (_what, onConnection, code) => {
    const result = await post(await tcp(onConnection));
    expect(result).toMatchObject({ status: null, error: { code } });
    expect(result.totalMs).toBeLessThan(2_000);
  });

  it("takes the status of an answer whose body drips, is endless, is huge or breaks off", async () => {
    const bodies: RequestListener[] = [
      (_request, response) => {
        const timer = setInterval(() => response.write("x"), 50);
        response.once("close", () => clearInterval(timer));
      },
      (_request, response) => {
        const more = () => {
          while (!response.destroyed && response.write(Buffer.alloc(65_536, "y")));
        };
        response.on("drain", more);
        more();
      },
      (_request, response) => void response.writeHead(200, { "content-length": "1000000000" }).write("start"),
      (_request, response) => {
        response.writeHead(200, { "content-length": "10" }).write("half");
        setTimeout(() => response.socket?.resetAndDestroy(), 50).unref();
      },
    ];
    for (const listener of bodies) {
      const result = await post(await http(listener));
      expect(result).toMatchObject({ status: 200, error: null, truncated: true });
      expect(result.body.length).toBeLessThanOrEqual(4_096);
      expect(result.totalMs).toBeLessThan(2_000);
    }
  });

  it("keeps a compressed body as it came: nothing is inflated", async () => {
    const bomb = gzipSync(Buffer.alloc(10_000_000));
    const port = await http((_request, response) => response.writeHead(200, { "content-encoding": "gzip" }).end(bomb));
    const result = await post(port);
    expect(result.body.equals(bomb.subarray(0, 4_096))).toBe(true);
  });

  it("reports a refused connection, and ends at once when it is aborted", async () => {
    const port = await tcp(() => undefined);
    const egress = egressTo(port);
    const aborted = new AbortController();
    const under = post(port, { signal: aborted.signal, timeoutMs: 5_000 }, egress);
    setTimeout(() => aborted.abort(), 50).unref();
    expect(await under).toMatchObject({ status: null, error: { code: "aborted" } });
    for (const close of closing.splice(0).reverse()) await close();
    expect(await post(port)).toMatchObject({ status: null, error: { code: "connection_refused" } });
  });
});

describe("a name", () => {
  const dial = async (answers: string[][]) => {
    let lookups = 0;
    // Answers expire at once: the connection's own lookup asks again.
    let clock = 0;
    const resolver = createResolver(
      async () => ({ addresses: answers[Math.min(lookups++, answers.length - 1)] ?? [], ttlSeconds: 5 }),
      () => (clock += 6_000),
    );
    const egress = openEgress({ profile: "webhook", resolver });
    closing.push(() => egress.close());
    const target = await egress.check("https://rebind.example.com/");
    const request = {
      method: "POST" as const,
      headers: [],
      body: Buffer.alloc(0),
      timeoutMs: 3_000,
      keepBytes: 1,
      drainBytes: 1,
    };
    return egress.send(target, request);
  };

  it("is not dialled when it turns private between check and dial", async () => {
    let connected = 0;
    await tcp(() => {
      connected += 1;
    });
    const result = await dial([["8.8.8.8"], ["127.0.0.1"]]);
    expect(result).toMatchObject({ status: null, error: { code: "unsafe_url" } });
    expect(connected).toBe(0);
  });

  it.each([
    [["8.8.8.8", "10.0.0.1"], "resolves_to_private"],
    [["::ffff:127.0.0.1"], "resolves_to_private"],
    [[], "unresolvable"],
  ])("with the addresses %j is refused as %s", async (addresses, reason) => {
    await expect(dial([addresses])).rejects.toMatchObject({ reason, passing: true });
  });

  it("is asked once for many, kept between 5 and 60 s, and asked again afterwards", async () => {
    let now = 0;
    let lookups = 0;
    const resolver = createResolver(
      async () => {
        lookups += 1;
        return { addresses: ["8.8.8.8"], ttlSeconds: 3_600 };
      },
      () => now,
    );
    await Promise.all(Array.from({ length: 50 }, () => resolver.resolve("a.example.com")));
    now = 59_000;
    await resolver.resolve("a.example.com");
    expect(lookups).toBe(1);
    now = 61_000;
    await resolver.resolve("a.example.com");
    expect(lookups).toBe(2);
  });
});

describe("a guarded request", () => {
  it("judges each redirect: one to a private address is refused, and none beyond the profile's number is followed", async () => {
    const locations = ["http://169.254.169.254/latest/", "https://[::ffff:10.0.0.1]/", "https://2130706433/"];
    let location = "";
    const port = await http((_request, response) => response.writeHead(302, { location }).end());
    const egress = egressTo(port, "release");
    for (location of locations) {
      await expect(guardedRequest(egress, `http://${name}:${port}/`)).rejects.toMatchObject({ name: "EgressRefused" });
    }
    location = "/again";
    await expect(guardedRequest(egress, `http://${name}:${port}/`)).rejects.toThrow("more than 3 redirects");
  });

  it("hands redirects back where the profile follows none, and refuses what is larger than allowed", async () => {
    const port = await http((request, response) => {
      if (request.url === "/moved") return response.writeHead(302, { location: "/" }).end();
      return response.end(Buffer.alloc(300 * 1024));
    });
    const fetchGuarded = guardedFetch(egressTo(port, "sso"));
    expect((await fetchGuarded(`http://${name}:${port}/moved`)).status).toBe(302);
    await expect(fetchGuarded(`http://${name}:${port}/large`)).rejects.toThrow("more than 262144 bytes");
  });

  it("does not carry credentials to another origin", async () => {
    const seen: (string | undefined)[] = [];
    const other = await http((request, response) => {
      seen.push(request.headers.authorization);
      response.end("ok");
    });
    const port = await http((request, response) => {
      seen.push(request.headers.authorization);
      response.writeHead(302, { location: `http://${name}:${other}/` }).end();
    });
    const exceptions = parseExceptions(
      [port, other].map((each) => `http://${name}:${each}=127.0.0.1`).join(","),
      "test",
    );
    const egress = openEgress({ profile: "release", exceptions });
    closing.push(() => egress.close());
    const reply = await guardedRequest(egress, `http://${name}:${port}/`, { headers: { Authorization: "Bearer x" } });
    expect([reply.status, reply.url]).toEqual([200, `http://${name}:${other}/`]);
    reply.body.destroy();
    expect(seen).toEqual(["Bearer x", undefined]);
  });

  it("by a provider of one tenant that hangs leave connections to another tenant's on the same host", async () => {
    const hanging: ServerResponse[] = [];
    const port = await http((request, response) => {
      if (request.url === "/hanging") hanging.push(response);
      else response.end("{}");
    });
    const egress = egressTo(port, "sso");
    const at = (path: string) => guardedFetch(egress)(`http://${name}:${port}${path}`);
    const waiting = Promise.allSettled(Array.from({ length: 4 }, () => at("/hanging")));
    expect((await at("/other")).status).toBe(200);
    expect(hanging).toHaveLength(4);
    for (const response of hanging) response.destroy();
    expect((await waiting).map(({ status }) => status)).toEqual(Array(4).fill("rejected"));
  });
});
