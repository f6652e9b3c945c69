import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Bus, openBus } from "@muster/bus";
import { openDatabase } from "@muster/db";
import { createLogger, sleep, uuidv7 } from "@muster/kit";
import { type TestNats, testNats, until } from "@muster/testing";
import { eventMessage, startDispatcher, type TestDispatcher } from "../testing/dispatcher.ts";

const log = createLogger("two-matchers-test", "fatal");
const events = 400;
const seed = 20_260_101;

let dispatcher: TestDispatcher;
let nats: TestNats;
const closing: (() => Promise<unknown>)[] = [];
beforeAll(async () => {
  dispatcher = await startDispatcher();
  nats = await testNats();
});
afterAll(async () => {
  for (const close of closing.reverse()) await close();
  await nats?.remove();
  await dispatcher?.stop();
});

async function open(service: "webhook-dispatcher" | "tenancy"): Promise<Bus> {
  const bus = await openBus({ servers: nats.url, seed: nats.seeds[service], name: service, replicas: 1, log });
  closing.push(() => bus.close());
  return bus;
}

/** Batches are handled up to 75 ms late, at random: the other matcher stores later events of the stream first. */
function slow(bus: Bus, random: () => number): Pick<Bus, "consume"> {
  return {
    consume: (options, handler) =>
      bus.consume(options, async (batch) => {
        await sleep(75 * random());
        await handler(batch);
      }),
  };
}

async function matcher(random: (() => number) | null, isSending: boolean) {
  const db = openDatabase({ url: dispatcher.database.appUrl, max: 5, name: "matcher", log });
  const bus = await open("webhook-dispatcher");
  const running = dispatcher.matcher(random ? slow(bus, random) : bus, { db, batchEvents: 7, isSending });
  closing.push(() => db.close());
  closing.push(() => running.stop());
}

describe("two matchers", () => {
  it(`send an ordered webhook its events in the order of the stream, each once (seed ${seed})`, async () => {
    const receiver = dispatcher.receivers[0];
    const [ordered, other] = [await dispatcher.organization(), await dispatcher.organization()];
    await dispatcher.webhook(ordered.admin, receiver, { ordered: true });
    const beside = await dispatcher.webhook(other.admin, dispatcher.receivers[1]);
    await (await open("webhook-dispatcher")).ensureStream("EVENTS");
    let state = seed;
    const random = () => {
      state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
      return state / 2_147_483_648;
    };
    const emitter = await open("tenancy");
    const ids = Array.from({ length: events }, () => uuidv7()).sort(() => random() - 0.5);
    const emitted: Promise<unknown>[] = [];
    for (const id of ids) {
      emitted.push(emitter.transport.publish(eventMessage(ordered.orgId, { id })));
      if (random() < 0.3) emitted.push(emitter.transport.publish(eventMessage(other.orgId)));
    }
    await Promise.all(emitted);
    const sender = dispatcher.sender();
    await matcher(random, false);
    await matcher(null, true);
    const arrived = () => receiver.received.map(({ headers }) => String(headers["x-service-event-id"]));
    await until("all of them", () => arrived().length >= events, 90_000);
    const besides = await dispatcher.deliveriesOf(beside.id);
    await sender.stop();
    expect(besides.length).toBeGreaterThan(0);
    expect(arrived()).toEqual(ids);
  }, 120_000);
});
