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
  gateway = await startTestGateway(services);
});
afterAll(async () => {
  await gateway?.close();
  await services?.close();
});

const logsOf = (secret: string) =>
  rawRequest(gateway.port, ["GET /api/v1/audit-logs/logs HTTP/1.1", "Host: api.test", `X-API-Key: ${secret}`]);

describe("calls to a service", () => {
  it("of an organization that all wait leave connections to the calls of others", async () => {
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
});
