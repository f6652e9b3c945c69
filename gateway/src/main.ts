import { packageVersion, redactConfig, runProcess, startConfig } from "@muster/kit";
import { createSigner, useRpcTls } from "@muster/rpc";
import { type Config, configSchema } from "./config.ts";
import { connectBus } from "./wiring/connect-bus.ts";
import { startGateway } from "./wiring/start-gateway.ts";

const version = packageVersion(import.meta.url);

const loaded = startConfig("gateway", configSchema);
if (!loaded) process.exit(1);
const config: Config = loaded;

await runProcess(
  {
    name: "gateway",
    version,
    level: config.LOG_LEVEL,
    opsHost: config.OPS_HOST,
    opsPort: config.OPS_PORT,
    drainDelayMs: config.DRAIN_DELAY_MS,
    drainGraceMs: config.DRAIN_GRACE_MS + config.CHANNEL_RECONNECT_SPREAD_MS,
  },
  async (proc) => {
    const { log, readiness } = proc;
    log.info({ version, config: redactConfig(config) }, "starting");
    useRpcTls(config, log);
    const signer = createSigner({ issuer: "gateway", privateKeys: config.CALLER_PRIVATE_KEYS });
    const app = await startGateway({ config, version, signer, readiness, log });
    readiness.addCheck("settings", () => app.sharedSettings());
    connectBus(proc, config, app);
    proc.onStop("http", () => app.close());
    proc.ready({ http: app.port });
  },
);
