import { randomBytes, randomUUID } from "node:crypto";
import { timestampFromMs, timestampNow } from "@bufbuild/protobuf/wkt";
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { until } from "@muster/testing";
import { type FakeServices, startFakeServices } from "../testing/fake-services.ts";
import { startTestGateway, type TestGateway } from "../testing/test-gateway.ts";

type Noted = { operation: string; id: string; code: string; scimType: string; detail: string };

let services: FakeServices;
let gateway: TestGateway;
const noted: Noted[] = [];
const resolved: string[] = [];
beforeAll(async () => {
  services = await startFakeServices();
  gateway = await startTestGateway(services);
  services.scim.resolveDirectory = ({ operation }) => {
    resolved.push(operation);
    return { directoryId: randomUUID(), tokenId: randomUUID(), name: "Entra", partnerId: randomUUID(), orgId: "" };
  };
  services.scim.noteScimRefusal = ({ operation, id, code, scimType, detail }) => {
    noted.push({ operation, id, code, scimType, detail });
    return {};
  };
});
afterAll(async () => {
  await gateway.close();
  await services.close();
});

const newToken = () => `scim_${randomBytes(32).toString("base64url")}`;

async function send(method: string, path: string, token: string, body?: string, type = "application/scim+json") {
  const headers = { authorization: `Bearer ${token}`, ...(body === undefined ? {} : { "content-type": type }) };
  const reply = await fetch(`${gateway.url}/api/v1/scim/v2${path}`, { method, headers, ...(body ? { body } : {}) });
  await reply.arrayBuffer();
  return reply.status;
}

/** What was noted since `start`, once there are as many as expected. */
const notedSince = (start: number, count: number) =>
  until("refusals to be noted", async () => (noted.length >= start + count ? noted.slice(start) : null));

it("has what the gateway refuses to a directory logged: once a minute, however often it is sent", async () => {
  const [token, id, start] = [newToken(), randomUUID(), noted.length];
  for (let at = 0; at < 3; at++) expect(await send("PATCH", `/Users/${id}`, token, "{")).toBe(400);
  expect(await send("POST", "/Users", token, "<User/>", "application/xml")).toBe(415);
  expect(await send("GET", `/Users?filter=${"x".repeat(8_193)}`, token)).toBe(400);
  expect(await notedSince(start, 3)).toEqual([
    { operation: "PATCH /Users/:id", id, code: "invalid_json", scimType: "invalidSyntax", detail: expect.any(String) },
    { operation: "POST /Users", id: "", code: "unsupported_media_type", scimType: "", detail: expect.any(String) },
    {
      operation: "GET /Users",
      id: "",
      code: "validation_failed",
      scimType: "invalidSyntax",
      detail: expect.stringMatching(/^filter: /),
    },
  ]);
  expect(resolved).toContain("PATCH /Users/:id");
});

it("has requests beyond the hourly limit logged", async () => {
  const granted = services.edge.reserve;
  services.edge.reserve = ({ wants }) => ({
    lease: { seconds: 1n, nanos: 0 },
    now: timestampNow(),
    grants: wants.map(({ kind, id }) => ({
      kind,
      id,
      granted: 0,
      remaining: 0,
      resetAt: timestampFromMs(Date.now() + 60_000),
      retryAt: timestampFromMs(Date.now() + 60_000),
      slot: 1n,
    })),
  });
  const start = noted.length;
  expect(await send("GET", "/Users", newToken())).toBe(429);
  if (granted) services.edge.reserve = granted;
  expect(await notedSince(start, 1)).toMatchObject([{ operation: "GET /Users", code: "rate_limited" }]);
});
