import { readFileSync } from "node:fs";
import { rootCertificates } from "node:tls";
import { messageOf, parseVerifier, type TrustedRoot } from "@muster/kit/agent";
import { builtInKeys } from "./build-info.ts";
import type { Config } from "./config.ts";
import { AgentError, exitCodes } from "./exit-codes.ts";

/** Where distributions keep the certificates that their administrators trust. */
const systemStores = [
  "/etc/ssl/certs/ca-certificates.crt",
  "/etc/pki/tls/certs/ca-bundle.crt",
  "/etc/ssl/cert.pem",
  "/etc/ssl/ca-bundle.pem",
];

/** Keys of release manifests: those of the config, else those that were built in. */
export function pinnedRoot({ rootKeys }: Pick<Config, "rootKeys">): TrustedRoot {
  return { number: 1, keys: (rootKeys.length > 0 ? rootKeys : builtInKeys).map(parseVerifier) };
}

/** Certificates that a connection trusts: the system's and those of `caFile`. Throws an AgentError. */
export function certificates({ caFile }: Pick<Config, "caFile">): string[] {
  const own = caFile === null ? [] : [textOf(caFile)];
  for (const path of systemStores) {
    try {
      return [readFileSync(path, "utf8"), ...own];
    } catch {
      // Another distribution's place.
    }
  }
  return [...rootCertificates, ...own];
}

function textOf(caFile: string): string {
  try {
    return readFileSync(caFile, "utf8");
  } catch (error) {
    throw new AgentError(exitCodes.config, `"caFile": ${messageOf(error)}`);
  }
}
