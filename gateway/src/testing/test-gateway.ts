import { createLogger, loadConfig } from "@muster/kit";
import { createSigner } from "@muster/rpc";
import { configSchema } from "../config.ts";
import type { Route } from "../route/route.ts";
import { type App, startGateway } from "../wiring/start-gateway.ts";
import type { FakeServices } from "./fake-services.ts";

export type TestGateway = App & { url: string; readiness: { state: string } };

/** The gateway without its process, before fake services; `env` overrides settings. */
export async function startTestGateway(
  services: Pick<FakeServices, "url" | "callerKeys">,
  options: { env?: Record<string, string>; routes?: readonly Route[] } = {},
): Promise<TestGateway> {
  const env = {
    NODE_ENV: "test",
    HOST: "127.0.0.1",
    PORT: "0",
    IDENTITY_URL: services.url,
    TENANCY_URL: services.url,
    AUDIT_URL: services.url,
    DEVICE_LOGS_URL: services.url,
    WEBHOOK_DISPATCHER_URL: services.url,
    AGENT_RELEASE_URL: services.url,
    NATS_URL: "nats://127.0.0.1:1",
    NATS_NKEY_SEED: `SU${"A".repeat(56)}`,
    CALLER_PRIVATE_KEYS: services.callerKeys,
    DRAIN_GRACE_MS: "2000",
    // The machine is shared with the other suites.
    EVENT_LOOP_LAG_MAX_MS: "60000",
    // Room for what is remembered is made at the start.
    SESSION_CACHE_MAX: "1000",
    KEY_CACHE_MAX: "1000",
    AGENT_CACHE_MAX: "1000",
    ADDRESSES_COUNTED_MAX: "1000",
    ...options.env,
  };
  const readiness = { state: "ready" };
  const app = await startGateway({
    config: loadConfig(configSchema, env),
    version: "1.2.3",
    signer: createSigner({ issuer: "gateway", privateKeys: services.callerKeys }),
    readiness,
    log: createLogger("gateway-test", "fatal"),
    ...(options.routes ? { routes: options.routes } : {}),
  });
  return { ...app, url: `http://127.0.0.1:${app.port}`, readiness };
}
