import { openBus } from "@muster/bus";
import { type Process, packageVersion, redactConfig, runProcess, sleep, startConfig } from "@muster/kit";
import { createSigner } from "@muster/rpc";
import { type App, startGateway } from "./app.ts";
import { followAuthStream } from "./auth/auth-stream.ts";
import { type Config, configSchema } from "./config.ts";

const version = packageVersion(import.meta.url);

const loaded = startConfig("gateway", configSchema);
if (!loaded) process.exit(1);
const config: Config = loaded;

await runProcess(
  {
    name: "gateway",
    level: config.LOG_LEVEL,
    opsHost: config.OPS_HOST,
    opsPort: config.OPS_PORT,
    drainDelayMs: config.DRAIN_DELAY_MS,
    drainGraceMs: config.DRAIN_GRACE_MS + config.CHANNEL_RECONNECT_SPREAD_MS,
  },
  async (proc) => {
    const { log, readiness } = proc;
    log.info({ version, config: redactConfig(config) }, "starting");
    const signer = createSigner({ issuer: "gateway", privateKeys: config.CALLER_PRIVATE_KEYS });
    const app = await startGateway({ config, version, signer, readiness, log });
    connectBus(proc, app);
    proc.onStop("http", () => app.close());
    proc.ready({ http: app.port });
  },
);

/** In the background: without NATS revocations come with the heartbeats to identity. */
function connectBus(proc: Process, app: App): void {
  const { log, readiness } = proc;
  let state = "connecting";
  readiness.addCheck("nats", () => state);
  const connected = openBus({
    servers: config.NATS_URL,
    seed: config.NATS_NKEY_SEED,
    name: "gateway",
    replicas: 1,
    log,
  }).then((bus) => {
    readiness.addCheck("nats", () => bus.check());
    app.channels.attach(bus.relay);
    const follower = followAuthStream(bus, app.changes, () => {
      app
        .loadRevoked()
        .catch((err: unknown) => log.info({ err }, "revoked sessions not loaded, each is asked for anyway"));
    });
    return { bus, follower };
  });
  connected.catch((err: unknown) => {
    state = "failed";
    log.error({ err }, "cannot use the message bus");
  });
  proc.onStop("bus", async () => {
    const opened = await Promise.race([connected.catch(() => null), sleep(2_000).then(() => null)]);
    await opened?.follower.stop();
    await opened?.bus.close();
  });
}
