import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { type Bus, openBus } from "@muster/bus";
import { createLogger } from "@muster/kit";
import { type TestNats, testNats, until } from "@muster/testing";
import { outboxWakeUp } from "./outbox-wake-up.ts";

let nats: TestNats;
const buses: Bus[] = [];
/** What a process of tenancy wakes up others by. */
async function ofProcess() {
  const log = createLogger("wake-up-test", "fatal");
  const bus = await openBus({ servers: nats.url, seed: nats.seeds.tenancy, name: "tenancy", replicas: 1, log });
  buses.push(bus);
  return { bus, wakeUp: outboxWakeUp(bus.relay, "tenancy") };
}
beforeAll(async () => {
  nats = await testNats();
});
afterAll(async () => {
  for (const bus of buses) await bus.close();
  await nats?.remove();
});

it("wakes up the relay in another process of the service, for a burst by few messages, the last one included", async () => {
  const [emits, holds] = [await ofProcess(), await ofProcess()];
  let wakeUps = 0;
  holds.wakeUp.listen(() => {
    wakeUps += 1;
  });
  await holds.bus.relay.flush();
  for (let i = 0; i < 1_000; i++) emits.wakeUp.notify();
  await until("the wake-ups", () => wakeUps >= 2);
  expect(wakeUps).toBeLessThan(100);
});
