import { randomBytes } from "node:crypto";
import { openBus } from "@muster/bus";
import { type CheckSchemaOptions, checkSchema } from "@muster/db";
import { busSettings, busTls, createLogger, type Logger, loadConfig, serviceSettings } from "@muster/kit";
import { z } from "zod";

const settings = z.object({
  DATABASE_URL_APP: serviceSettings.DATABASE_URL_APP,
  ...busSettings,
  NATS_NKEY_SEED: serviceSettings.NATS_NKEY_SEED,
  LOG_LEVEL: serviceSettings.LOG_LEVEL,
});

export type ClusterCheck = {
  service: string;
  config: z.infer<typeof settings>;
  schema: Omit<CheckSchemaOptions, "url" | "service" | "log" | "waitMs">;
  /** Addresses that must answer 2xx. */
  urls: readonly string[];
  log: Logger;
  /** Milliseconds for each part. */
  waitMs?: number;
};

/**
 * Tries what a service needs of its cluster, as the service: that the database has its schema and rights, JetStream
 * answers, a message that it publishes is received, and each of `urls` answers. Returns what is wrong by part; empty
 * when all of it works.
 */
export async function clusterFailures(check: ClusterCheck): Promise<Record<string, string>> {
  const { service, config, schema, urls, log, waitMs = 20_000 } = check;
  const parts: [string, () => Promise<void>][] = [
    ["postgresql", () => checkSchema({ ...schema, url: config.DATABASE_URL_APP, service, log, waitMs })],
    ["nats", () => publishAndReceive(check, AbortSignal.timeout(waitMs / 2))],
    ...urls.map((url): [string, () => Promise<void>] => [url, () => answers(url, waitMs)]),
  ];
  const failures: Record<string, string> = {};
  for (const [name, part] of parts) {
    try {
      await within(waitMs, part());
      log.info({ part: name }, "works");
    } catch (error) {
      failures[name] = error instanceof Error ? error.message : String(error);
    }
  }
  return failures;
}

async function within(ms: number, work: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${ms} ms`)), ms);
  });
  await Promise.race([work, late]).finally(() => clearTimeout(timer));
}

/** Over the subject by which processes of the service wake up one another: nothing is stored, and no other listens. */
async function publishAndReceive({ service, config, log }: ClusterCheck, signal: AbortSignal): Promise<void> {
  const bus = await openBus({
    servers: config.NATS_URL,
    seed: config.NATS_NKEY_SEED,
    name: service,
    replicas: 1,
    tls: busTls(config),
    log,
    signal,
  });
  try {
    const state = await bus.check();
    if (state !== "ok") throw new Error(state);
    const subject = `outbox.${service}`;
    const sent = randomBytes(16);
    let listening: { stop(): void } | undefined;
    const received = new Promise<void>((resolve) => {
      listening = bus.relay.listen(subject, (body) => {
        if (sent.equals(body)) resolve();
      });
    });
    await bus.relay.flush();
    bus.relay.publish(subject, sent);
    await received;
    listening?.stop();
  } finally {
    await bus.close();
  }
}

async function answers(url: string, waitMs: number): Promise<void> {
  const response = await fetch(url, { signal: AbortSignal.timeout(waitMs) });
  await response.body?.cancel();
  if (!response.ok) throw new Error(`answered ${response.status}`);
}

/** `main.js check URL…`: as `clusterFailures`; ends with status 1 when something does not work. */
export async function checkOnly(
  service: string,
  schema: ClusterCheck["schema"],
  urls: readonly string[],
): Promise<void> {
  let log = createLogger(service);
  try {
    const config = loadConfig(settings);
    log = createLogger(service, config.LOG_LEVEL);
    const failures = await clusterFailures({ service, config, schema, urls, log });
    if (Object.keys(failures).length === 0) return;
    log.fatal({ failures }, "the cluster does not work");
  } catch (err) {
    log.fatal({ err }, "the cluster cannot be checked");
  }
  process.exitCode = 1;
}
