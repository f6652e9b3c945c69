import { openBus } from "@muster/bus";
import { openDatabase, startRelay } from "@muster/db";
import { createLogger, sleep, systemCaller } from "@muster/kit";
import { eventFor, type Hook } from "./webhooks-cluster.ts";

export type EmitterAsk =
  | { type: "pace"; hooks: Hook[]; perSecond: number; ms: number }
  | { type: "burst"; hooks: Hook[]; events: number; past: "outbox" | "stream" };

/**
 * A service that emits events: it stores them in its outbox, and its relay publishes them. `past: "stream"` publishes
 * as fast as the stream takes it without an outbox, which no service does. Answers each ask with the milliseconds it
 * took.
 */
const [databaseUrl = "", servers = "", seed = ""] = process.argv.slice(2);
const atATime = 500;
const tickMs = 5;
const log = createLogger("bench-emitter", "fatal");
const db = openDatabase({ url: databaseUrl, max: 10, name: "tenancy", log });
const bus = await openBus({ servers, seed, name: "webhook-dispatcher", replicas: 1, log });
const relay = startRelay({ db, transport: bus.transport, log });
const who = { caller: systemCaller("tenancy") };

async function emit(events: ReturnType<typeof eventFor>[]): Promise<void> {
  if (events.length === 0) return;
  await db.tx(who, async (tx) => {
    for (const event of events) tx.emit(event);
  });
}

/** Late events carry the time at which they were due, so that a delayed emitter hides no latency. */
async function pace({ hooks, perSecond, ms }: Extract<EmitterAsk, { type: "pace" }>): Promise<void> {
  const startedMs = Date.now();
  const total = Math.round((perSecond * ms) / 1_000);
  const emitting: Promise<void>[] = [];
  for (let sent = 0; sent < total; ) {
    const due = Math.min(total, Math.floor(((Date.now() - startedMs) / 1_000) * perSecond));
    const events: ReturnType<typeof eventFor>[] = [];
    for (; sent < due; sent++) {
      const hook = hooks[sent % hooks.length];
      if (hook) events.push(eventFor(hook, undefined, new Date(startedMs + ((sent + 1) * 1_000) / perSecond)));
    }
    emitting.push(emit(events));
    await sleep(tickMs);
  }
  await Promise.all(emitting);
}

async function burst({ hooks, events, past }: Extract<EmitterAsk, { type: "burst" }>): Promise<void> {
  for (let at = 0; at < events; at += atATime) {
    const some = Array.from({ length: Math.min(atATime, events - at) }, (_, n) => hooks[(at + n) % hooks.length])
      .filter((hook) => hook !== undefined)
      .map((hook) => eventFor(hook));
    await (past === "outbox" ? emit(some) : Promise.all(some.map((event) => bus.transport.publish(event))));
  }
}

process.on("message", async (ask: EmitterAsk & { id: number }) => {
  const startedMs = performance.now();
  await (ask.type === "pace" ? pace(ask) : burst(ask));
  process.send?.({ id: ask.id, ms: performance.now() - startedMs });
});
process.on("disconnect", async () => {
  await relay.stop();
  await bus.close();
  await db.close();
});
process.send?.({ type: "ready" });
