import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { z } from "zod";
import { openApiDocument } from "../openapi/document.ts";
import { Answered, Rendered, redirect, Streamed } from "../route/reply.ts";
import { noBody, type Route, route } from "../route/route.ts";
import { type FakeServices, startFakeServices } from "../testing/fake-services.ts";
import { type RawReply, rawRequest } from "../testing/raw-http.ts";
import { startTestGateway, type TestGateway } from "../testing/test-gateway.ts";

async function* bytes(text: string) {
  yield Buffer.from(text);
}

const about = { access: { auth: "none" }, tag: "Platform", summary: "Answers by itself" } as const;
const away = route({
  ...about,
  method: "GET",
  path: "/test/away",
  status: 302,
  answers: { 302: { description: "To another page", headers: { Location: "Where to." } } },
  noStore: true,
  noReferrer: true,
  cookie: "state",
  reply: noBody,
  handle: ({ cookie }) => redirect(302, `https://app.test/?cookie=${cookie}`, ["Set-Cookie", "state=; Max-Age=0"]),
});
const file = route({
  ...about,
  method: "GET",
  path: "/test/file",
  answers: { 206: { description: "A part" }, 304: { description: "Not changed" }, 416: { description: "Beyond" } },
  file: { contentTypes: ["text/plain"], headers: { ETag: "Of the bytes." } },
  reply: z.string(),
  handle({ conditions }) {
    const { range, ifNoneMatch } = conditions();
    if (ifNoneMatch === '"1"') return new Answered(304, ["ETag", '"1"']);
    if (range === "bytes=9-") return new Answered(416, ["Content-Range", "bytes */4"]);
    if (range === null) return new Streamed("text/plain", ["ETag", '"1"'], bytes("file"));
    const lines = ["Content-Range", "bytes 1-2/4", "Content-Length", "2"];
    return new Answered(206, lines, new Streamed("text/plain", [], bytes("il")));
  },
});
const form = route({
  ...about,
  method: "POST",
  path: "/test/form",
  form: true,
  bodyLimitBytes: 100,
  perAddressPerMinute: "sso",
  body: z.object({ text: z.string("Must stand once") }),
  answers: { 200: { description: "What was sent, and a cookie", headers: { "Set-Cookie": "A cookie." } } },
  reply: z.object({ text: z.string() }),
  handle: ({ body }) => new Answered(200, ["Set-Cookie", "a=b"], new Rendered(JSON.stringify(body))),
});
const page = route({
  ...about,
  method: "POST",
  path: "/test/page",
  form: true,
  bodyLimitBytes: 1_000,
  perAddressPerMinute: "sso",
  body: z.object({ state: z.string() }),
  query: z.object({ failure: z.enum(["none", "ours"]).default("none") }),
  status: 303,
  answers: { 303: { description: "To another page", headers: { Location: "Where to." } } },
  reply: noBody,
  refused: ({ code, ends }) =>
    redirect(303, `https://app.test/failed?code=${code}&bytes=${ends?.bytes}&state=${ends?.formField("state", /\w+/)}`),
  handle({ query }) {
    if (query.failure === "ours") throw new TypeError("a failure of the handler");
    return redirect(303, "https://app.test/done");
  },
});
const unnamed = route({
  ...about,
  method: "GET",
  path: "/test/unnamed",
  reply: noBody,
  handle: () => redirect(303, "/"),
});
const rows: readonly Route[] = [away, file, form, page, unnamed];

let services: FakeServices;
let gateway: TestGateway;
beforeAll(async () => {
  services = await startFakeServices();
  gateway = await startTestGateway(services, {
    routes: rows,
    env: { SSO_REQUESTS_PER_MINUTE: "20", TRUST_PROXY_HEADERS: "true" },
  });
});
afterAll(async () => {
  await gateway.close();
  await services.close();
});

const get = (path: string, ...lines: string[]) =>
  rawRequest(gateway.port, [`GET /api/v1/test/${path} HTTP/1.1`, "Host: a", ...lines]);
const post = (body: string, type = "application/x-www-form-urlencoded", ...lines: string[]) =>
  rawRequest(
    gateway.port,
    [
      "POST /api/v1/test/form HTTP/1.1",
      "Host: a",
      `Content-Type: ${type}`,
      `Content-Length: ${Buffer.byteLength(body)}`,
      ...lines,
    ],
    body,
  );

describe("a reply whose handler chose the status", () => {
  it("redirects without a body, out of caches and without a referrer, with the handler's header lines", async () => {
    const reply = await get("away", "Cookie: a=1; state=abc");
    expect([reply.status, reply.text]).toEqual([302, ""]);
    expect(Object.fromEntries(reply.headers)).toMatchObject({
      location: "https://app.test/?cookie=abc",
      "set-cookie": "state=; Max-Age=0",
      "content-length": "0",
      "cache-control": "no-store",
      "referrer-policy": "no-referrer",
      "x-request-id": expect.any(String),
    });
  });

  it("reads a cookie from several Cookie lines, and null when there are two values", async () => {
    const location = async (...lines: string[]) => (await get("away", ...lines)).headers.get("location");
    expect(await location("Cookie: a=1", "Cookie: state=x")).toBe("https://app.test/?cookie=x");
    expect(await location("Cookie: state=y", "Cookie: state=x")).toBe("https://app.test/?cookie=null");
    expect(await location()).toBe("https://app.test/?cookie=null");
  });

  it("sends a part of a file, 304 for an unchanged one, and 416 for a range beyond it", async () => {
    const part = await get("file", "Range: bytes=1-2");
    expect([part.status, part.text, part.headers.get("content-range")]).toEqual([206, "il", "bytes 1-2/4"]);
    const same = await get("file", 'If-None-Match: "1"');
    expect([same.status, same.headers.get("etag"), same.headers.has("content-length")]).toEqual([304, '"1"', false]);
    const beyond = await get("file", "Range: bytes=9-");
    expect([beyond.status, beyond.headers.get("content-range"), beyond.text]).toEqual([416, "bytes */4", ""]);
    expect((await get("file", "Range: bytes=1-2", "Range: bytes=0-1")).status).toBe(400);
  });

  it("is an internal error when its route does not declare the status", async () => {
    const reply = await get("unnamed");
    expect([reply.status, reply.json.code, reply.headers.has("location")]).toEqual([500, "internal", false]);
  });
});

describe("a form", () => {
  it("is parsed as texts by name, and its reply may set a cookie", async () => {
    const reply = await post("text=a%20b%2Bc+d&other=1");
    expect([reply.status, reply.json, reply.headers.get("set-cookie")]).toEqual([200, { text: "a b+c d" }, "a=b"]);
  });

  it.each([
    ["JSON", '{"text":"a"}', "application/json", 415, "unsupported_media_type"],
    ["another charset", "text=a", "application/x-www-form-urlencoded; charset=utf-16", 415, "unsupported_media_type"],
    ["a field twice", "text=a&text=b", undefined, 400, "validation_failed"],
    ["no field", "other=1", undefined, 400, "validation_failed"],
    ["nothing", "", undefined, 400, "validation_failed"],
    ["NUL", "text=%00", undefined, 400, "validation_failed"],
    ["too much", `text=${"a".repeat(200)}`, undefined, 413, "payload_too_large"],
  ])("with %s is refused", async (_case, body, type, status, code) => {
    const reply = await post(body, type);
    expect([reply.status, reply.json.code]).toEqual([status, code]);
  });

  it("is rate-limited by address before it is read", async () => {
    const from = (address: string) => post("text=a", undefined, `X-Forwarded-For: ${address}`);
    const replies = [];
    for (let i = 0; i < 21; i++) replies.push(await from("203.0.113.9"));
    expect(replies.map(({ status }) => status)).toEqual([...Array(20).fill(200), 429]);
    expect([replies[20]?.json.code, replies[20]?.headers.get("retry-after")]).toEqual(["rate_limited", "3"]);
    expect((await from("203.0.113.10")).status).toBe(200);
  });
});

describe("a page that a browser of another site opens", () => {
  const type = "Content-Type: application/x-www-form-urlencoded";
  const open = (body: string, { lines = [type], query = "" }: { lines?: string[]; query?: string } = {}) =>
    rawRequest(
      gateway.port,
      [`POST /api/v1/test/page${query} HTTP/1.1`, "Host: a", `Content-Length: ${Buffer.byteLength(body)}`, ...lines],
      body,
    );
  const fill = (bytes: number) => `state=abc&text=${"a".repeat(bytes - 15)}`;

  it.each<[string, () => Promise<RawReply>, string]>([
    ["nothing wrong", () => open("state=abc"), "https://app.test/done"],
    ["a field missing", () => open("a=b"), "https://app.test/failed?code=validation_failed&bytes=3&state=null"],
    ["NUL", () => open("state=%00"), "https://app.test/failed?code=validation_failed&bytes=9&state=null"],
    [
      "another type",
      () => open("{}", { lines: [] }),
      "https://app.test/failed?code=unsupported_media_type&bytes=undefined&state=undefined",
    ],
    [
      "a query that is wrong",
      () => open("a", { query: "?failure=x" }),
      "https://app.test/failed?code=validation_failed&bytes=undefined&state=undefined",
    ],
    [
      "a failure of the gateway",
      () => open("state=a", { query: "?failure=ours" }),
      "https://app.test/failed?code=internal&bytes=7&state=null",
    ],
    ["too much", () => open(fill(1_001)), "https://app.test/failed?code=payload_too_large&bytes=1001&state=abc"],
    [
      "far too much",
      () => open(fill(5_000_000)),
      "https://app.test/failed?code=payload_too_large&bytes=5000000&state=abc",
    ],
  ])("is answered with a redirect for %s", async (_case, send, location) => {
    const reply = await send();
    expect([reply.status, reply.text, reply.headers.get("location")]).toEqual([303, "", location]);
    expect(reply.headers.has("x-request-id")).toBe(true);
  });

  it("is answered with a redirect, too, beyond the limit of its address", async () => {
    const from = () => open("state=abc", { lines: [type, "X-Forwarded-For: 203.0.113.20"] });
    const replies = [];
    for (let i = 0; i < 21; i++) replies.push(await from());
    expect(replies.at(-1)?.headers.get("location")).toBe(
      "https://app.test/failed?code=rate_limited&bytes=undefined&state=undefined",
    );
  });

  it("is documented without the errors that nobody gets", () => {
    const { paths } = openApiDocument([page], { version: "1" }) as {
      paths: Record<string, Record<string, { responses: object }>>;
    };
    expect(Object.keys(paths["/api/v1/test/page"]?.post?.responses ?? {}).sort()).toEqual(["303", "400", "431"]);
  });
});

it("is described in the OpenAPI document with each answer, the form and the limit", () => {
  const { paths } = openApiDocument(rows, { version: "1" }) as {
    paths: Record<string, Record<string, { responses: Record<string, { content?: object }>; requestBody?: object }>>;
  };
  expect(Object.keys(paths["/api/v1/test/file"]?.get?.responses ?? {})).toEqual(
    expect.arrayContaining(["200", "206", "304", "416"]),
  );
  const redirected = paths["/api/v1/test/away"]?.get?.responses;
  expect([redirected?.["200"], redirected?.["302"]?.content]).toEqual([undefined, undefined]);
  const posted = paths["/api/v1/test/form"]?.post;
  expect(posted?.requestBody).toMatchObject({ content: { "application/x-www-form-urlencoded": {} } });
  expect(posted?.responses["429"]).toBeDefined();
});
