import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { createLogger } from "@muster/kit";
import { connect, type NatsConnection, nkeyAuthenticator } from "nats";
import { openBus } from "./open-bus.ts";
import { type NatsService, type TestNats, testNats } from "./testing/test-nats.ts";
import { until } from "./testing/until.ts";
import type { Bus } from "./types.ts";

let nats: TestNats;
let gateway: Bus;
let other: NatsConnection;
let asking: NatsConnection;

const connectAs = (name: NatsService) =>
  connect({ servers: nats.url, authenticator: nkeyAuthenticator(new TextEncoder().encode(nats.seeds[name])) });

beforeAll(async () => {
  nats = await testNats();
  const log = createLogger("bus-test", "silent");
  gateway = await openBus({ servers: nats.url, seed: nats.seeds.gateway, name: "gateway", replicas: 1, log });
  [other, asking] = await Promise.all([connectAs("gateway"), connectAs("device-logs")]);
});
afterAll(async () => {
  await Promise.all([gateway?.close(), other?.close(), asking?.close()]);
  await nats?.remove();
});

it("answers on subjects for answers only, whatever the request names", async () => {
  const arrived: string[] = [];
  const receive = (nc: NatsConnection, subject: string) =>
    nc.subscribe(subject, {
      callback: (error, { data }) => void (error || arrived.push(`${subject} ${Buffer.from(data)}`)),
    });
  receive(other, "agent.epoch");
  receive(asking, "agent.answer.*");
  let requests = 0;
  gateway.relay.listen("agent.rpc.d", (_body, answer) => {
    requests++;
    answer(new TextEncoder().encode("answered"));
  });
  await Promise.all([gateway.relay.flush(), other.flush(), asking.flush()]);
  for (const reply of ["agent.epoch", "audit.gateway.0", "agent.answer.7"])
    asking.publish("agent.rpc.d", "", { reply });
  asking.publish("agent.rpc.d", "");
  await until(() => requests === 4 && arrived.length > 0);
  await other.flush();
  expect(arrived).toEqual(["agent.answer.* answered"]);
});
