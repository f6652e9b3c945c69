import { spawn } from "node:child_process";
import { generateNkey } from "@muster/bus";
import { generateCallerKey } from "@muster/rpc";
import type { TestDatabase } from "@muster/testing";

/** What every service needs, with a NATS that is away. */
export function serviceEnv(database: TestDatabase, publicKeysDir: string): Record<string, string> {
  return {
    DATABASE_URL_APP: database.appUrl,
    AUTO_MIGRATE: "false",
    NATS_URL: "nats://127.0.0.1:1",
    NATS_NKEY_SEED: generateNkey().seed,
    RPC_HOST: "127.0.0.1",
    RPC_PORT: "0",
    OPS_HOST: "127.0.0.1",
    OPS_PORT: "0",
    CALLER_PRIVATE_KEYS: generateCallerKey().privateKey,
    CALLER_PUBLIC_KEYS_DIR: publicKeysDir,
  };
}

/**
 * Runs a service's compiled program with that environment alone until it ends; once it is ready `look` looks at it, and
 * SIGTERM ends it.
 */
export async function runProcess(
  program: string,
  env: Record<string, string>,
  look: () => Promise<void> = async () => undefined,
): Promise<{ status: number | null; output: string }> {
  const child = spawn(process.execPath, [program], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { PATH: process.env.PATH, ...env },
  });
  let output = "";
  let looked: Promise<void> | undefined;
  const collect = (chunk: Buffer) => {
    output += chunk.toString();
    if (output.includes('"msg":"ready"')) looked ??= look().finally(() => child.kill("SIGTERM"));
  };
  child.stdout.on("data", collect);
  child.stderr.on("data", collect);
  const status = await new Promise<number | null>((resolve) => child.once("close", resolve));
  await looked;
  return { status, output };
}
