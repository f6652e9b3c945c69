import { spawn } from "node:child_process";
import { join } from "node:path";
import { roleNames } from "@muster/db";
import { readConfig, root } from "./config.ts";
import { readJson } from "./data-folder.ts";
import { loadKeys } from "./keys.ts";
import { Problem } from "./problem.ts";
import { mergeEnvironment } from "./programs.ts";
import type { StackFile } from "./stack-file.ts";

/**
 * `npm run muster -- restored TIME`: audit's restore-main.js on the local cluster that runs; throws a `Problem` when it
 * fails.
 */
export async function restoredServices([time = ""]: string[]): Promise<void> {
  const { dataDir } = readConfig();
  const stack = readJson<StackFile>(join(dataDir, "stack.json"));
  if (!stack) throw new Problem(`No cluster runs on ${dataDir}: start it first (npm start).`);
  const keys = loadKeys(dataDir);
  const url = new URL(stack.databaseUrl);
  url.username = roleNames("audit").app;
  url.password = encodeURIComponent(keys.rolePasswords[url.username] ?? "");
  const folder = join(root, "services", "audit");
  const env = mergeEnvironment(process.env, {
    DATABASE_URL_APP: url.href,
    NATS_URL: stack.natsUrl,
    NATS_NKEY_SEED: keys.nkeys.audit.seed,
    ...(stack.tls && {
      NATS_TLS_CA_PATH: stack.tls.ca,
      NATS_TLS_CERT_PATH: stack.tls.cert,
      NATS_TLS_KEY_PATH: stack.tls.key,
    }),
    CHECKPOINT_PRIVATE_KEY: keys.checkpointPrivateKey,
  });
  const script = join(folder, "dist", "restore-main.js");
  const child = spawn(process.execPath, ["--enable-source-maps", script, time], { cwd: folder, stdio: "inherit", env });
  const status = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", resolve);
  });
  if (status !== 0) throw new Problem("The restore was not declared. The lines above say why.");
}
