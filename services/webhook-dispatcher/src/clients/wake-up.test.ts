import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Bus, openBus } from "@muster/bus";
import { createLogger } from "@muster/kit";
import { type TestNats, testNats, until } from "@muster/testing";
import { createWakeUp } from "./wake-up.ts";

let nats: TestNats;
const buses: Bus[] = [];
const open = async () => {
  const log = createLogger("wake-up-test", "fatal");
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

describe("the wake-up", () => {
  it("wakes senders here at once and in other processes over NATS, a burst by few notifications, the last one included", async () => {
    let here = 0;
    let there = 0;
    const wakeUp = createWakeUp(() => (here += 1));
    wakeUp.connect(await open());
    const bus = await open();
    createWakeUp(() => (there += 1)).connect(bus);
    await bus.relay.flush();
    for (let i = 0; i < 1_000; i++) wakeUp.notify();
    expect(here).toBe(1_000);
    await until("the notifications", () => there >= 2);
    expect(there).toBeLessThan(100);
  });

  it("wakes senders here also without a bus", () => {
    let here = 0;
    const wakeUp = createWakeUp(() => (here += 1));
    wakeUp.notify();
    expect(here).toBe(1);
  });
});
