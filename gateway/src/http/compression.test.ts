import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { buffer } from "node:stream/consumers";
import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { z } from "zod";
import { type Route, route } from "../route/route.ts";
import { platformRoutes } from "../routes/platform/platform.ts";
import { type FakeServices, startFakeServices } from "../testing/fake-services.ts";
import { startTestGateway, type TestGateway } from "../testing/test-gateway.ts";
import { takesGzip } from "./compression.ts";

describe("Accept-Encoding", () => {
  it.each<[string | null, boolean]>([
    [null, false],
    ["", false],
    ["gzip", true],
    ["br, GZIP;q=0.5", true],
    ["br,gzip ; q=1.000", true],
    ["gzip;q=0", false],
    ["gzip; q = 0.000, br", false],
    ["gzip;q=0.001", true],
    ["identity", false],
    ["gzipped", false],
    ["*", false],
  ])("%j: gzip is taken: %j", (header, taken) => {
    expect(takesGzip(header)).toBe(taken);
  });
});

const rows = (count: number) => Array.from({ length: count }, (_, n) => ({ id: `row-${n}`, status: "ä sealed" }));
const list = (path: string, count: number, noStore = false): Route =>
  route({
    method: "GET",
    path,
    access: { auth: "none" },
    tag: "Platform",
    summary: "Rows",
    ...(noStore ? { noStore: true as const } : {}),
    reply: z.object({ data: z.array(z.object({ id: z.string(), status: z.string() })) }),
    handle: () => ({ data: rows(count) }),
  });

let services: FakeServices;
let gateway: TestGateway;
beforeAll(async () => {
  services = await startFakeServices();
  const routes = [list("/test/long", 100), list("/test/short", 2), list("/test/secret", 100, true), ...platformRoutes];
  gateway = await startTestGateway(services, { routes });
});
afterAll(async () => {
  await gateway?.close();
  await services?.close();
});

/** Not by fetch, which inflates what it gets. */
const get = async (path: string, coding: string | null, method = "GET") => {
  const headers = coding === null ? {} : { "accept-encoding": coding };
  const sent = request(`${gateway.url}/api/v1${path}`, { method, headers }).end();
  const [reply] = (await once(sent, "response")) as [IncomingMessage];
  const { "content-encoding": encoding, "content-length": length, vary } = reply.headers;
  return { encoding, length, vary, body: await buffer(reply) };
};

describe("a long reply", () => {
  it("is compressed for clients that accept it, with a Vary header", async () => {
    const plain = await get("/test/long", null);
    expect([plain.encoding, plain.vary]).toEqual([undefined, "Accept-Encoding"]);
    const small = await get("/test/long", "gzip, br");
    expect([small.encoding, small.vary]).toEqual(["gzip", "Accept-Encoding"]);
    expect(small.body.length).toBeLessThan(plain.body.length / 5);
    expect(Number(small.length)).toBe(small.body.length);
    expect(JSON.parse(gunzipSync(small.body).toString())).toEqual({ data: rows(100) });
  });

  it("has the same headers for HEAD", async () => {
    const [got, head] = [await get("/test/long", "gzip"), await get("/test/long", "gzip", "HEAD")];
    expect([head.body.length, head.length]).toEqual([0, got.length]);
  });

  it("with a secret is not compressed", async () => {
    const secret = await get("/test/secret", "gzip");
    expect([secret.encoding, secret.vary]).toEqual([undefined, undefined]);
  });

  it("with the OpenAPI document is compressed once and shared by all callers", async () => {
    const replies = await Promise.all([1, 2, 3].map(() => get("/openapi.json", "gzip")));
    expect(new Set(replies.map(({ body }) => body.toString("base64"))).size).toBe(1);
    expect(JSON.parse(gunzipSync(replies[0]?.body ?? Buffer.alloc(0)).toString())).toHaveProperty("openapi");
  });
});

it("a short reply is not compressed", async () => {
  const reply = await get("/test/short", "gzip");
  expect([reply.encoding, reply.vary, JSON.parse(reply.body.toString())]).toEqual([
    undefined,
    undefined,
    { data: rows(2) },
  ]);
});
