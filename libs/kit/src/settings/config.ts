import { readFileSync } from "node:fs";
import { z } from "zod";
import { codeOf } from "../errors/caught.ts";
import { coupled, orderErrors } from "./couplings.ts";
import { databaseUrl, listenHost, natsServers, nkeySeed, privateKeys } from "./setting-formats.ts";

/** Settings whose values are secrets: shown as "***" wherever configuration is printed. */
const secretName = /(PASSWORD|SECRET|PRIVATE|PEPPER|SEED|TOKEN|DATABASE_URL|NATS_URL|SMTP_URL|APP_ENCRYPTION_KEY)/;

/** A configuration error names every bad setting at once; the process prints it and ends. */
export class ConfigError extends Error {
  constructor(problems: string[]) {
    super(`Configuration is not usable:\n${problems.map((p) => `  - ${p}`).join("\n")}`);
    this.name = "ConfigError";
  }
}

/**
 * Reads settings from the environment through one zod object. `NAME_FILE` names a file that holds the value of `NAME`
 * (Docker and Kubernetes secrets); giving both is an error. Empty strings count as absent.
 */
export function loadConfig<S extends z.ZodObject>(schema: S, env: NodeJS.ProcessEnv = process.env): z.infer<S> {
  const problems: string[] = [];
  const raw: Record<string, string> = {};
  for (const name of Object.keys(schema.shape)) {
    const direct = env[name];
    const file = env[`${name}_FILE`];
    if (direct && file) problems.push(`${name} and ${name}_FILE are both set`);
    else if (file) {
      try {
        raw[name] = readFileSync(file, "utf8").trim();
      } catch (error) {
        problems.push(`${name}_FILE: cannot read ${file} (${codeOf(error) || "error"})`);
      }
    } else if (direct) raw[name] = direct;
  }
  const parsed = schema.safeParse(raw);
  if (!parsed.success) {
    const wrong = parsed.error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`);
    throw new ConfigError([...problems, ...wrong]);
  }
  problems.push(...orderErrors(schema.shape, parsed.data));
  if (problems.length > 0) throw new ConfigError(problems);
  return parsed.data;
}

/** The effective settings with every secret masked, for the log at start. */
export function redactConfig(config: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(config).map(([name, value]) => [name, secretName.test(name) && value !== undefined ? "***" : value]),
  );
}

/** "true"/"false" (also 1/0) with a default. */
export const flag = (fallback: boolean) =>
  z
    .enum(["true", "false", "1", "0"])
    .default(fallback ? "true" : "false")
    .transform((v) => v === "true" || v === "1");

/** A whole number within bounds, with a default. */
export const whole = (fallback: number, min: number, max: number) =>
  z.coerce.number().int().min(min).max(max).default(fallback);

const list = (text: string) =>
  text
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== "");

/** Base URLs of a service's RPC port, comma-separated; `use` describes what they are used for. */
export const baseUrls = (service: string, use: string) =>
  z
    .string()
    .transform(list)
    .refine((urls) => urls.length > 0 && urls.every((url) => URL.canParse(url)), "must be one or more base URLs")
    .describe(`Base URLs of the ${service} service's RPC port, comma-separated; ${use}.`);

/** The version in the package.json above the folder of this module (`import.meta.url` of a file in src or dist). */
export const packageVersion = (moduleUrl: string): string =>
  String(JSON.parse(readFileSync(new URL("../package.json", moduleUrl), "utf8")).version);

/** Settings that every process has. */
export const processSettings = {
  NODE_ENV: z.enum(["production", "development", "test"]).default("development").describe("Kind of deployment."),
  LOG_LEVEL: z
    .enum(["trace", "debug", "info", "warn", "error"])
    .default("info")
    .describe("Least severe level that is logged."),
  OPS_HOST: listenHost().default("0.0.0.0").describe("Address the ops port listens on."),
  OPS_PORT: whole(9090, 0, 65535).describe("Port of /metrics, /livez and /readyz; 0 takes a free one."),
  DRAIN_DELAY_MS: whole(0, 0, 60_000).describe("Milliseconds between reporting not ready and refusing new work."),
  DRAIN_GRACE_MS: whole(10_000, 0, 300_000).describe(
    "Milliseconds that work in flight may take during shutdown; the rest is cut off.",
  ),
};

const path = (what: string) =>
  z.string().optional().describe(`Path of a PEM file: ${what}. Read again when it changes.`);

/** Settings of the message bus, for processes that use it. */
export const busSettings = {
  NATS_URL: natsServers().describe(
    "nats://host:port of the message bus, several comma-separated; with tls:// or a file of NATS_TLS_ a server without TLS is refused.",
  ),
  NATS_TLS_CA_PATH: path("authorities that sign the certificates of NATS servers; the system's without it"),
  NATS_TLS_CERT_PATH: path("certificate that this process shows to NATS servers, with its chain"),
  NATS_TLS_KEY_PATH: path("private key of NATS_TLS_CERT_PATH"),
};

export type BusTlsSettings = {
  NATS_TLS_CA_PATH?: string | undefined;
  NATS_TLS_CERT_PATH?: string | undefined;
  NATS_TLS_KEY_PATH?: string | undefined;
};

/** Mutual TLS between our processes: all three or none of them. */
export const rpcTlsSettings = {
  RPC_TLS_CA_PATH: path(
    "authorities that sign the certificates of services and gateways; two while one replaces the other",
  ),
  RPC_TLS_CERT_PATH: path("certificate that this process shows, as server and as client, with its chain"),
  RPC_TLS_KEY_PATH: path("private key of RPC_TLS_CERT_PATH"),
};

/** Of every process that checks second factors. */
export const mfaMaxAgeMinutes = coupled(
  whole(480, 1, 43_200).describe("Minutes for which a completed second factor is valid in a session."),
  { shared: true },
);

/** Of every pool of connections to PostgreSQL. */
export const preparedStatements = z
  .enum(["auto", "on", "off", "true", "false", "1", "0"])
  .default("auto")
  .transform((value) => (value === "auto" ? value : value === "on" || value === "true" || value === "1"))
  .describe(
    "Prepare statements on each connection: `on`, `off`, or `auto`, which is off behind a pooler that does not carry them (PgBouncer before 1.21).",
  );

/** Settings of a service: its database, the message bus and its RPC port. */
export const serviceSettings = {
  ...processSettings,
  DATABASE_URL: databaseUrl().optional().describe("PostgreSQL as the schema's owner; used for migrations only."),
  DATABASE_URL_APP: databaseUrl().describe("PostgreSQL as the unprivileged application role."),
  DATABASE_POOL_MAX: whole(5, 1, 100).describe("Connections in the pool of this process."),
  DATABASE_PREPARED_STATEMENTS: preparedStatements,
  AUTO_MIGRATE: flag(true).describe("Apply migrations at start; when false the schema is only checked."),
  ...busSettings,
  NATS_NKEY_SEED: nkeySeed().describe("NKey seed of this service's NATS user."),
  NATS_STREAM_REPLICAS: whole(1, 1, 5).describe("Replicas of the streams this service owns."),
  RPC_HOST: listenHost().default("0.0.0.0").describe("Address the RPC port listens on."),
  RPC_PORT: whole(8080, 0, 65535).describe("Port of Connect, gRPC and gRPC-Web; 0 takes a free one."),
  ...rpcTlsSettings,
  CALLER_PRIVATE_KEYS: privateKeys("ed25519").describe(
    "id:base64 Ed25519 PKCS#8 keys that sign caller tokens; the first signs.",
  ),
  CALLER_PUBLIC_KEYS_DIR: z
    .string()
    .describe("Directory of public caller keys, <issuer>/<kid>.pem, re-read every 30 s."),
};

/**
 * The settings of a process that starts; null when they are wrong. Then stderr and the parent process have the reason,
 * and the process ends with status 1 as soon as nothing keeps it.
 */
export function startConfig<S extends z.ZodObject>(name: string, schema: S): z.infer<S> | null {
  try {
    return loadConfig(schema);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    process.stderr.write(`${name}: ${message}\n`);
    process.send?.({ type: "failed", message });
    process.exitCode = 1;
    process.disconnect?.();
    return null;
  }
}
