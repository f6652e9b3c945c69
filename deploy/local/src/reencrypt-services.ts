import { spawn } from "node:child_process";
import { join } from "node:path";
import { roleNames } from "@muster/db";
import { readConfig, root } from "./config.ts";
import { readJson } from "./data-folder.ts";
import { loadKeys, sealerNames } from "./keys.ts";
import { Problem } from "./problem.ts";
import { mergeEnvironment } from "./programs.ts";
import type { StackFile } from "./stack-file.ts";

/**
 * `npm run muster -- reencrypt`: every service's secrets under the first key of the data folder; throws a `Problem`
 * that names those that failed.
 */
export async function reencryptServices(): Promise<void> {
  const { dataDir } = readConfig();
  const stack = readJson<StackFile>(join(dataDir, "stack.json"));
  if (!stack) throw new Problem(`No cluster runs on ${dataDir}: start it first (npm start).`);
  const keys = loadKeys(dataDir);
  const failed: string[] = [];
  for (const name of sealerNames) {
    const url = new URL(stack.databaseUrl);
    url.username = roleNames(name).owner;
    url.password = encodeURIComponent(keys.rolePasswords[url.username] ?? "");
    const folder = join(root, "services", name);
    const child = spawn(
      process.execPath,
      ["--enable-source-maps", join(folder, "dist", "main.js"), "reencrypt", `--stack=${dataDir}`],
      {
        cwd: folder,
        stdio: "inherit",
        env: mergeEnvironment(process.env, {
          DATABASE_URL: url.href,
          SECRET_ENCRYPTION_KEY: keys.secretEncryptionKeys[name],
        }),
      },
    );
    const status = await new Promise<number | null>((resolve, reject) => {
      child.once("error", reject);
      child.once("exit", resolve);
    });
    if (status !== 0) failed.push(name);
  }
  if (failed.length > 0) throw new Problem(`Not re-encrypted: ${failed.join(", ")}. The lines above say why.`);
}
