import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Bus, openBus } from "@muster/bus";
import { createLogger } from "@muster/kit";
import { type TestNats, testNats, until } from "@muster/testing";
import { createDoorbell } from "./doorbell.ts";

let nats: TestNats;
const buses: Bus[] = [];
const open = async () => {
  const log = createLogger("doorbell-test", "fatal");
  const bus = await openBus({
    servers: nats.url,
    seed: nats.seeds["webhook-dispatcher"],
    name: "webhook-dispatcher",
    replicas: 1,
    log,
  });
  buses.push(bus);
  return bus;
};
beforeAll(async () => {
  nats = await testNats();
});
afterAll(async () => {
  for (const bus of buses) await bus.close();
  await nats?.remove();
});

describe("the doorbell", () => {
  it("wakes senders here at once and in other processes over NATS, a burst as few rings, the last one included", async () => {
    let here = 0;
    let there = 0;
    const bell = createDoorbell(() => (here += 1));
    bell.connect(await open());
    const bus = await open();
    createDoorbell(() => (there += 1)).connect(bus);
    await bus.relay.flush();
    for (let i = 0; i < 1_000; i++) bell.ring();
    expect(here).toBe(1_000);
    await until("the rings", () => there >= 2);
    expect(there).toBeLessThan(100);
  });

  it("rings here also while there is no bus", () => {
    let here = 0;
    const bell = createDoorbell(() => (here += 1));
    bell.ring();
    expect(here).toBe(1);
  });
});
