import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { uuidv7 } from "@muster/kit";
import { callContext } from "@muster/rpc";
import { until } from "@muster/testing";
import { type FakeServices, startFakeServices } from "../testing/fake-services.ts";
import { rawRequest } from "../testing/raw-http.ts";
import { startTestGateway, type TestGateway } from "../testing/test-gateway.ts";

let services: FakeServices;
let gateway: TestGateway;
beforeAll(async () => {
  services = await startFakeServices();
  gateway = await startTestGateway(services, { env: { TRUST_PROXY_HEADERS: "true" } });
});
afterAll(async () => {
  await gateway?.close();
  await services?.close();
});

const logsOf = (secret: string) =>
  rawRequest(gateway.port, ["GET /api/v1/audit-logs/logs HTTP/1.1", "Host: api.test", `X-API-Key: ${secret}`]);

describe("calls to a service", () => {
  it("from an organization that all wait, leave connections to the calls of others", async () => {
    const slow = services.newKey({ orgId: uuidv7(), scopes: ["audit:read"] });
    const ends: (() => void)[] = [];
    let isHeld = true;
    services.audit.listLogs = (_request, handler) => {
      if (!isHeld || callContext(handler).caller.orgId !== slow.record.orgId) return {};
      return new Promise((resolve) => ends.push(() => resolve({})));
    };
    const held = Array.from({ length: 200 }, () => logsOf(slow.secret));
    await until("the organization's part of the calls to have arrived", async () => ends.length >= 32);

    const others = [1, 2, 3].map(() => services.newKey({ orgId: uuidv7(), scopes: ["audit:read"] }));
    const replies = await Promise.all(others.map(({ secret }) => logsOf(secret)));
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(ends.length).toBe(32);

    isHeld = false;
    for (const end of ends) end();
    expect((await Promise.all(held)).map(({ status }) => status)).toEqual(Array(200).fill(200));
  });

  it("for admission go on while the first use of many agents' new tokens waits for all gateways", async () => {
    const ends: (() => void)[] = [];
    const resolve = services.edge.resolveAgent;
    services.edge.resolveAgent = async (request, handler) => {
      await new Promise<void>((end) => ends.push(end));
      return (resolve as NonNullable<typeof resolve>)(request, handler);
    };
    let heartbeats = 0;
    const heartbeat = services.edge.heartbeat;
    services.edge.heartbeat = (request, handler) => {
      heartbeats += 1;
      return (heartbeat as NonNullable<typeof heartbeat>)(request, handler);
    };
    const first = Array.from({ length: 24 }, (_, at) => {
      const { token, record } = services.newAgent({ orgId: uuidv7() });
      return rawRequest(gateway.port, [
        `POST /api/v1/agents/${record.deviceId}/heartbeat HTTP/1.1`,
        "Host: api.test",
        "Content-Length: 0",
        `Authorization: Bearer ${token}`,
        `X-Forwarded-For: 192.0.2.${at}`,
      ]);
    });
    await until("some of them to wait", async () => ends.length >= 8);
    const before = heartbeats;
    const key = services.newKey({ orgId: uuidv7(), scopes: ["audit:read"] });
    expect((await logsOf(key.secret)).status).toBe(200);
    await until("a heartbeat of the gateway", async () => heartbeats > before);
    services.edge.resolveAgent = resolve as NonNullable<typeof resolve>;
    for (const end of ends) end();
    await Promise.all(first);
  });
});
