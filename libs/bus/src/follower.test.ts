import { setImmediate as nextTurn } from "node:timers/promises";
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { createLogger } from "@muster/kit";
import { connect, type NatsConnection } from "nats";
import { openBus } from "./open-bus.ts";
import { streamConfig } from "./streams.ts";
import { type NatsService, operatorPassword, type TestNats, testNats } from "./testing/test-nats.ts";
import { until } from "./testing/until.ts";
import type { Bus } from "./types.ts";

const log = createLogger("bus-test", "silent");
let nats: TestNats;
let operator: NatsConnection;
let identity: Bus;
let gateway: Bus;

beforeAll(async () => {
  nats = await testNats({ withOperators: true });
  operator = await connect({ servers: nats.url, user: "operator-AUTH", pass: operatorPassword });
  const open = (name: NatsService) => openBus({ servers: nats.url, seed: nats.seeds[name], name, replicas: 1, log });
  [identity, gateway] = await Promise.all([open("identity"), open("gateway")]);
  const { streams } = await operator.jetstreamManager();
  await streams.add({ ...streamConfig("AUTH", 1), republish: { src: "auth.session", dest: "stored.auth.session" } });
});
afterAll(async () => {
  await Promise.all([identity?.close(), gateway?.close(), operator?.close()]);
  await nats?.remove();
});

const publish = (n: number, subject = "auth.session") =>
  identity.transport.publish({ subject, msgId: `m${n}`, body: new Uint8Array([n]) });

/** Stores a message of which no repetition arrives, as if it had been lost on its way. */
const publishUnrepeated = (n: number) => publish(n, "auth.unrepeated");

const follow = async () => {
  const seen: string[] = [];
  const follower = gateway.follow(
    { stream: "AUTH", filterSubject: "auth.>" },
    { onMessage: ({ msgId }) => void seen.push(msgId), onGap: () => void seen.push("gap") },
  );
  await until(() => seen.length === 1);
  return { seen, follower };
};

it("reads what was not repeated before the message that shows it, in order and once", async () => {
  const { seen, follower } = await follow();
  await publish(1);
  await publishUnrepeated(2);
  await publishUnrepeated(3);
  await publish(4);
  await until(() => seen.includes("m4"));
  await publish(5);
  await until(() => seen.includes("m5"));
  expect(seen).toEqual(["gap", "m1", "m2", "m3", "m4", "m5"]);
  await follower.stop();
});

it("reads what was not repeated when nothing follows, within seconds", async () => {
  const { seen, follower } = await follow();
  await publishUnrepeated(6);
  await until(() => seen.includes("m6"), 10_000);
  expect(seen).toEqual(["gap", "m6"]);
  await follower.stop();
});

it("reports a gap when a message could not be handled", async () => {
  const seen: string[] = [];
  let fails = true;
  const follower = gateway.follow(
    { stream: "AUTH", filterSubject: "auth.>" },
    {
      onMessage: ({ msgId }) => {
        if (fails) throw new Error("not now");
        seen.push(msgId);
      },
      onGap: () => void seen.push("gap"),
    },
  );
  await until(() => seen.length === 1);
  await publish(7);
  await until(() => seen.length === 2);
  fails = false;
  await publish(8);
  await until(() => seen.includes("m8"));
  expect(seen).toEqual(["gap", "gap", "m8"]);
  await follower.stop();
});

it("calls no handler after it was stopped, also when it was reading the stream", async () => {
  const calls: string[] = [];
  let isStopped = false;
  // An answer may also be there before the stop.
  const note = () => void (isStopped && calls.push("called"));
  const stopped = gateway.follow({ stream: "AUTH", filterSubject: "auth.>" }, { onMessage: note, onGap: note });
  // Now it has sent its first request.
  await nextTurn();
  isStopped = true;
  await stopped.stop();
  // A second one needs the answers that the first one was waiting for.
  const { follower } = await follow();
  expect(calls).toEqual([]);
  await follower.stop();
});
