import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { callContext } from "@muster/rpc";
import { until } from "@muster/testing";
import { z } from "zod";
import { route } from "../route/route.ts";
import { type FakeServices, startFakeServices } from "../testing/fake-services.ts";
import { openSocket, rawRequest } from "../testing/raw-http.ts";
import { startTestGateway, type TestGateway } from "../testing/test-gateway.ts";

const id = "018f0000-0000-7000-8000-000000000001";

const slow = route({
  method: "GET",
  path: "/test/slow",
  access: { auth: "session" },
  tag: "Platform",
  summary: "Waits for tenancy",
  deadline: "health",
  reply: z.object({}),
  async handle({ rpc }, { services }) {
    await services.partners.getPartner({ id }, await rpc());
    return {};
  },
});

let services: FakeServices;
let gateway: TestGateway;
let token: string;

beforeAll(async () => {
  services = await startFakeServices();
  gateway = await startTestGateway(services, { routes: [slow] });
  token = (await services.signIn()).token;
});

afterAll(async () => {
  await gateway.close();
  await services.close();
});

describe("a route's call", () => {
  it("ends at its deadline, which the service receives with the request", async () => {
    let leftMs = 0;
    services.tenancy.getPartner = (_request, handler) => {
      leftMs = (callContext(handler).deadlineMs ?? 0) - performance.now();
      return new Promise(() => undefined);
    };
    const lines = ["GET /api/v1/test/slow HTTP/1.1", "Host: a", `Authorization: Bearer ${token}`];
    const reply = await rawRequest(gateway.port, lines);
    expect([reply.status, reply.json.code]).toEqual([504, "deadline_exceeded"]);
    expect(leftMs).toBeGreaterThan(1_000);
    expect(leftMs).toBeLessThan(2_000);
  });

  it("is cancelled when the client disconnects", async () => {
    let signal: AbortSignal | undefined;
    services.tenancy.getPartner = (_request, handler) => {
      signal = callContext(handler).signal;
      return new Promise(() => undefined);
    };
    const socket = await openSocket(gateway.port);
    socket.write(`GET /api/v1/test/slow HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\n\r\n`);
    const startedMs = performance.now();
    await until("the call to arrive", () => signal);
    socket.destroy();
    await until("the call to be cancelled", () => signal?.aborted);
    expect(performance.now() - startedMs).toBeLessThan(1_500);
  });
});
