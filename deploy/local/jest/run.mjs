// `npm run jest -- [arguments]`: jest on what is built, with the flags that its workers inherit.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { root } from "../prepare.mjs";

/**
 * With V8's own 16 MB for young objects much of a suite is copied to the old generation before it is garbage: 15 % of a
 * worker's processor time.
 */
const flags = ["--experimental-vm-modules", "--no-warnings", "--max-semi-space-size=64"];

/**
 * Runs jest with these arguments; resolves with its status. A signal ends jest and, once that is gone, this process.
 */
export async function runJest(args, env = process.env) {
  const jest = join(root, "node_modules", "jest", "bin", "jest.js");
  const child = spawn(process.execPath, [...flags, jest, ...args], { cwd: root, stdio: "inherit", env });
  // jest stops its database on these; this process must outlive it to pass its status on.
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"];
  let stopped = false;
  const stop = (name) => {
    stopped = true;
    child.kill(name);
  };
  for (const name of signals) process.on(name, stop);
  const [code, signal] = await once(child, "exit");
  for (const name of signals) process.off(name, stop);
  if (stopped) process.exit(code ?? (signal === "SIGINT" ? 130 : 1));
  return code ?? 1;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) process.exit(await runJest(process.argv.slice(2)));
