import { openBus } from "@muster/bus";
import { createLogger } from "@muster/kit";
import { eventFor, type Hook } from "./webhooks-cluster.ts";

/** A process of its own that emits `count` events of the hooks it is handed, as fast as the stream takes them, 500 under way at a time. */
const [servers = "", seed = "", count = "0"] = process.argv.slice(2);
const atATime = 500;
const log = createLogger("bench-emitter", "fatal");
const bus = await openBus({ servers, seed, name: "tenancy", replicas: 1, log });

process.on("message", async (hooks: Hook[]) => {
  const startedMs = performance.now();
  for (let at = 0; at < Number(count); at += atATime) {
    await Promise.all(
      Array.from({ length: atATime }, (_, n) => {
        const hook = hooks[n % hooks.length];
        return hook ? bus.transport.publish(eventFor(hook)) : null;
      }),
    );
  }
  process.send?.({ type: "done", ms: performance.now() - startedMs });
  await bus.close();
  process.disconnect();
});
process.send?.({ type: "ready" });
