import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { routes } from "../routes/index.ts";
import { edgeRows } from "../testing/edge-rows.ts";
import { type FakeServices, startFakeServices } from "../testing/fake-services.ts";
import { rawReplies, rawRequest } from "../testing/raw-http.ts";
import { startTestGateway, type TestGateway } from "../testing/test-gateway.ts";

let services: FakeServices;
let gateway: TestGateway;
const post = (body: string, ...lines: string[]) =>
  rawRequest(
    gateway.port,
    ["POST /api/v1/test/echo HTTP/1.1", "Host: api.test", `Content-Length: ${Buffer.byteLength(body)}`, ...lines],
    body,
  );
const json = "Content-Type: application/json";

beforeAll(async () => {
  services = await startFakeServices();
  gateway = await startTestGateway(services, {
    routes: [...routes, ...edgeRows],
    env: { HEADERS_TIMEOUT_MS: "1000", REQUEST_TIMEOUT_MS: "3000" },
  });
});

afterAll(async () => {
  await gateway.close();
  await services.close();
});

describe("a request body", () => {
  it.each([
    [
      "not JSON by its type",
      "text=a",
      ["Content-Type: application/x-www-form-urlencoded"],
      415,
      "unsupported_media_type",
    ],
    ["without a type", '{"text":"a"}', [], 415, "unsupported_media_type"],
    [
      "in another charset",
      '{"text":"a"}',
      ["Content-Type: application/json; charset=utf-16"],
      415,
      "unsupported_media_type",
    ],
    ["compressed", "{}", [json, "Content-Encoding: gzip"], 415, "unsupported_media_type"],
    ["malformed", '{"text":', [json], 400, "invalid_json"],
    ["of the wrong shape", "[]", [json], 400, "validation_failed"],
    ["with a wrong field", '{"text":1}', [json], 400, "validation_failed"],
    ["with NUL", '{"text":"a\\u0000"}', [json], 400, "validation_failed"],
    ["with NUL in a key", '{"any":{"a\\u0000":1}}', [json], 400, "validation_failed"],
    ["with a lone surrogate", '{"any":["\\ud800"]}', [json], 400, "validation_failed"],
    ["with a number beyond any double", '{"any":{"n":1e400}}', [json], 400, "validation_failed"],
    ["with one that is written out", `{"any":[-${"9".repeat(400)}]}`, [json], 400, "validation_failed"],
    ["with __proto__", '{"any":{"__proto__":{"a":1}}}', [json], 400, "validation_failed"],
    ["too deep", `{"any":${"[".repeat(40)}${"]".repeat(40)}}`, [json], 400, "validation_failed"],
    ["much too deep", `{"any":${"[".repeat(480)}`, [json], 400, "invalid_json"],
    ["over the cap", JSON.stringify({ text: "a".repeat(2_000) }), [json], 413, "payload_too_large"],
  ])("%s is refused", async (_what, body, lines, status, code) => {
    const reply = await post(body, ...lines);
    expect([reply.status, reply.json.code]).toEqual([status, code]);
    if (code === "validation_failed") {
      expect(reply.json.details).toEqual({ formErrors: expect.anything(), fieldErrors: expect.anything() });
    }
  });

  it("with a number in a free object that no double keeps is refused by path, all of them at once", async () => {
    const reply = await post('{"own":{"limit":12345678901234567890,"list":[1.0,{"a":1e-400}]}}', json);
    expect([reply.status, reply.json.code, reply.json.details]).toEqual([
      400,
      "validation_failed",
      {
        formErrors: [],
        fieldErrors: {
          "own.limit": ["Not a number that a 64-bit float keeps: send it as text"],
          "own.list.1.a": ["Not a number that a 64-bit float keeps: send it as text"],
        },
      },
    ]);
    expect((await post('{"own":{"n":[1.0,-0,1e2,0.1]},"any":12345678901234567890}', json)).status).toBe(200);
  });

  it("with an invalid field is refused with the field's path", async () => {
    const reply = await post('{"any":{"list":["ok","\\udfff"]}}', json);
    expect(reply.json.details).toEqual({
      formErrors: [],
      fieldErrors: { "any.list.1": ["Must be well-formed Unicode"] },
    });
  });

  it("with a number beyond double precision's range is refused by path, and the largest double is kept", async () => {
    const reply = await post('{"any":{"list":[1,1e400]}}', json);
    expect(reply.json.details).toEqual({
      formErrors: [],
      fieldErrors: { "any.list.1": ["Must be a number between -1.8e308 and 1.8e308"] },
    });
    const kept = `{"text":"a","any":[${Number.MAX_VALUE},-${Number.MAX_VALUE},1e-400]}`;
    expect((await post(kept, json)).status).toBe(200);
  });

  it("may be absent, whatever the Content-Type", async () => {
    expect((await post("")).json).toEqual({ text: null });
    expect((await post("", "Content-Type: text/plain")).json).toEqual({ text: null });
  });

  it("may name its charset", async () => {
    expect((await post('{"text":"ä"}', "Content-Type: application/json; charset=UTF-8")).json).toEqual({ text: "ä" });
  });

  it("is not JSON when it is not UTF-8", async () => {
    const head = [
      "POST /api/v1/test/echo HTTP/1.1",
      "Host: a",
      json,
      "Content-Length: 12",
      "Connection: close",
      "",
      "",
    ];
    const body = Buffer.concat([Buffer.from('{"text":"'), Buffer.from([0xff]), Buffer.from('"}')]);
    const [reply] = await rawReplies(gateway.port, Buffer.concat([Buffer.from(head.join("\r\n")), body]));
    expect([reply?.status, reply?.json.code]).toEqual([400, "invalid_json"]);
  });

  it("in chunks beyond the limit is a 413", async () => {
    const chunk = `400\r\n${"a".repeat(1_024)}\r\n`;
    const reply = await rawRequest(
      gateway.port,
      ["POST /api/v1/test/echo HTTP/1.1", "Host: a", json, "Transfer-Encoding: chunked"],
      `${chunk.repeat(8)}0\r\n\r\n`,
    );
    expect([reply.status, reply.json.code]).toEqual([413, "payload_too_large"]);
  });

  it.each([2_000_000, 7_000_000])("with %d bytes still gets its 413, and the connection stays open", async (bytes) => {
    const send = () =>
      fetch(`${gateway.url}/api/v1/test/echo`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ text: "a".repeat(bytes) }),
      });
    for (let i = 0; i < 5; i++) {
      const reply = await send();
      expect([reply.status, ((await reply.json()) as { code: string }).code]).toEqual([413, "payload_too_large"]);
    }
  });

  it("with broken chunks is a 400 with the error body", async () => {
    const reply = await rawRequest(
      gateway.port,
      ["POST /api/v1/test/echo HTTP/1.1", "Host: a", json, "Transfer-Encoding: chunked"],
      "zz\r\n",
    );
    expect([reply.status, reply.json.code]).toEqual([400, "bad_request"]);
  });

  it("with a Content-Length beyond the limit is refused before it is sent", async () => {
    const lines = [
      "POST /api/v1/test/echo HTTP/1.1",
      "Host: a",
      json,
      "Content-Length: 5000000",
      "Expect: 100-continue",
    ];
    const [reply] = await rawReplies(gateway.port, `${lines.join("\r\n")}\r\n\r\n`);
    expect(reply?.status).toBe(413);
    expect(reply?.headers.get("connection")).toBe("close");
  });

  it("is requested when the client waits for 100-continue", async () => {
    const reply = await post('{"text":"a"}', json, "Expect: 100-continue");
    expect([reply.status, reply.json]).toEqual([200, { text: "a" }]);
  });
});

describe("slow and broken clients", () => {
  it("a connection that was opened and never used is closed without a reply", async () => {
    expect(await rawReplies(gateway.port, "")).toEqual([]);
  });

  it("a connection that idles after its reply is closed without another reply", async () => {
    const idle = await startTestGateway(services, {
      env: { HEADERS_TIMEOUT_MS: "500", KEEP_ALIVE_TIMEOUT_MS: "1500" },
    });
    const replies = await rawReplies(idle.port, "GET /health HTTP/1.1\r\nHost: a\r\n\r\n");
    expect(replies.map(({ status }) => status)).toEqual([200]);
    await idle.close();
  });

  it("headers that do not arrive time out", async () => {
    const [reply] = await rawReplies(gateway.port, "GET /health HTTP/1.1\r\nHost: a\r\n");
    expect([reply?.status, reply?.json.code]).toEqual([408, "request_timeout"]);
  });

  it("a body that does not arrive times out", async () => {
    const lines = ["POST /api/v1/test/echo HTTP/1.1", "Host: a", json, "Content-Length: 10"];
    const [reply] = await rawReplies(gateway.port, `${lines.join("\r\n")}\r\n\r\n{`);
    expect([reply?.status, reply?.json.code]).toEqual([408, "request_timeout"]);
  });

  it("a request that is not HTTP gets a 400 with the error body", async () => {
    const [reply] = await rawReplies(gateway.port, "HELLO\r\n\r\n");
    expect([reply?.status, reply?.json.code]).toEqual([400, "bad_request"]);
  });

  it("CONNECT gets a 400 with the error body", async () => {
    const [reply] = await rawReplies(gateway.port, "CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n");
    expect([reply?.status, reply?.json.code]).toEqual([400, "bad_request"]);
  });

  it("pipelined requests are answered in order, and malformed bytes after them never get an earlier reply", async () => {
    const good = (id: string) => `GET /health HTTP/1.1\r\nHost: a\r\nX-Request-Id: ${id}\r\n\r\n`;
    const replies = await rawReplies(gateway.port, `${good("first")}${good("second")}HELLO\r\n\r\n`);
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 400]);
    expect(replies.slice(0, 2).map(({ headers }) => headers.get("x-request-id"))).toEqual(["first", "second"]);
  });
});
