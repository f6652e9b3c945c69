import { clusterKeys } from "./cluster-keys.ts";
import { restoredServices } from "./declare-restore.ts";
import { Problem } from "./problem.ts";
import { reencryptServices } from "./reencrypt-services.ts";
import { rotateOwnCertificates } from "./rotate-certificates.ts";

/**
 * `reencrypt`, `restored TIME` and `certificates` work on the local cluster that runs; `keys` makes those of a
 * Kubernetes cluster.
 */
const commands: Record<string, (args: string[]) => Promise<void>> = {
  reencrypt: reencryptServices,
  restored: restoredServices,
  certificates: rotateOwnCertificates,
  keys: async (args) => clusterKeys(args),
};

const [name = "", ...rest] = process.argv.slice(2);
const command =
  Object.hasOwn(commands, name) && (rest.length === 0 || name !== "reencrypt") ? commands[name] : undefined;
if (!command) {
  process.stderr.write(`usage: npm run muster -- <${Object.keys(commands).join("|")}>\n`);
  process.exitCode = 2;
} else {
  try {
    await command(rest);
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
  }
}
