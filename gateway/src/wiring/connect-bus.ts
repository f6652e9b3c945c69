import { openBus } from "@muster/bus";
import { busTls, type Process, settledWithin } from "@muster/kit";
import { followAuthStream } from "../auth/auth-stream.ts";
import type { Config } from "../config.ts";
import type { App } from "./start-gateway.ts";

/** Connects in the background: while NATS is unavailable, revocations arrive with identity's heartbeat replies. */
export function connectBus(proc: Process, config: Config, app: App): void {
  const { log, readiness } = proc;
  let state = "connecting";
  readiness.addCheck("nats", () => state);
  const connected = openBus({
    servers: config.NATS_URL,
    seed: config.NATS_NKEY_SEED,
    name: "gateway",
    replicas: 1,
    tls: busTls(config),
    log,
  }).then((bus) => {
    readiness.addCheck("nats", () => bus.check());
    app.channels.attach(bus.relay);
    app.feed.attach(bus.relay);
    const follower = followAuthStream(bus, app.changes, () => {
      app
        .loadRevoked()
        .catch((err: unknown) => log.info({ err }, "revoked sessions not loaded, each is resolved on demand"));
    });
    return { bus, follower };
  });
  connected.catch((err: unknown) => {
    state = "failed";
    log.error({ err }, "cannot use the message bus");
  });
  proc.onStop("bus", async () => {
    const opened = await settledWithin(
      2_000,
      connected.catch(() => null),
    );
    await opened?.follower.stop();
    await opened?.bus.close();
  });
}
