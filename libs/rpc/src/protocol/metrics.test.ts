import { createClient } from "@connectrpc/connect";
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { counter, histogram, systemCaller } from "@muster/kit";
import { ProbeService } from "@muster/proto/muster/common/v1/probe_pb";
import { SessionService } from "@muster/proto/muster/identity/v1/session_pb";
import { createTransport, type RpcTransport } from "../client/transport.ts";
import { register } from "../port/registration.ts";
import { sessionImpl, type TestPort, testPort } from "../testing/ports.ts";

let port: TestPort;
let transport: RpcTransport;
beforeAll(async () => {
  port = await testPort({ services: [register(SessionService, sessionImpl())] });
  transport = createTransport({ baseUrls: [port.url] });
});
afterAll(async () => {
  await transport.close();
  await port.drain();
});

async function counted(side: "server" | "client") {
  const { values } = await counter(`muster_rpc_${side}_requests_total`, "").get();
  return Object.fromEntries(values.map(({ labels, value }) => [`${labels.method} ${labels.code}`, value]));
}

it("counts calls by method and code, and times them, on both sides", async () => {
  const probe = createClient(ProbeService, transport);
  const session = createClient(SessionService, transport);
  await probe.echo({});
  await probe.echo({});
  await session.login({}).catch(() => undefined);
  const headers = { "muster-caller": await port.gateway.tokenFor(systemCaller("gateway"), "identity") };
  for await (const _ of probe.echoStream({ count: 2 }, { headers }));
  const wanted = {
    "muster.common.v1.ProbeService/Echo ok": 2,
    "muster.common.v1.ProbeService/EchoStream ok": 1,
    "muster.identity.v1.SessionService/Login unauthenticated": 1,
  };
  expect(await counted("server")).toEqual(wanted);
  expect(await counted("client")).toEqual(wanted);
  const { values } = await histogram("muster_rpc_server_request_duration_seconds", "").get();
  const echoes = values.find(({ metricName, labels }) => {
    return metricName?.endsWith("_count") && (labels as { method?: string }).method?.endsWith("/Echo");
  });
  expect(echoes?.value).toBe(2);
});
