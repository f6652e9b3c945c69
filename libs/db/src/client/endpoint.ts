import type { ConnectionOptions } from "node:tls";
import { ConfigError, codeOf, type Logger, messageOf, tlsFiles } from "@muster/kit";
import type pg from "pg";
import { StartRefused } from "./start-refused.ts";

const names = { ca: "sslrootcert", cert: "sslcert", key: "sslkey" };
const modes = ["disable", "require", "verify-ca", "verify-full"] as const;

/**
 * How to connect to the database of a URL: `sslmode`, `sslrootcert`, `sslcert` and `sslkey` as libpq means them. The
 * files are read for every connection, so that new certificates need no restart. Throws StartRefused for a mode that
 * promises nothing (`prefer`, `allow`), and for files that cannot be used.
 */
export function endpointOf(url: string, log?: Logger): pg.ClientConfig {
  // Other forms (a socket's path) are pg's own to read: none of them is encrypted.
  if (!/^postgres(ql)?:/.test(url) || !URL.canParse(url)) return { connectionString: url };
  const parsed = new URL(url);
  const take = (name: string) => {
    const value = parsed.searchParams.get(name);
    parsed.searchParams.delete(name);
    return value ?? undefined;
  };
  const [sslmode, ca, cert, key] = [take("sslmode"), take(names.ca), take(names.cert), take(names.key)];
  const mode = modes.find((each) => each === (sslmode ?? (ca || cert ? "verify-full" : "disable")));
  if (mode === undefined)
    throw new StartRefused(`${where(parsed)}: sslmode=${sslmode} is not one of ${modes.join(", ")}`);
  if (sslmode === undefined && mode === "disable") return { connectionString: url };
  const connectionString = parsed.href;
  if (mode === "disable") return { connectionString, ssl: false };
  try {
    const files = tlsFiles({ ca, cert, key }, names, log);
    return { connectionString, ssl: secured(mode, ca !== undefined, files) };
  } catch (error) {
    if (error instanceof ConfigError) throw new StartRefused(`${where(parsed)}: ${error.message}`, { cause: error });
    throw error;
  }
}

function secured(mode: (typeof modes)[number], hasAuthority: boolean, files: ReturnType<typeof tlsFiles>) {
  const options: ConnectionOptions = {
    // libpq: `require` checks the chain where an authority is given, and nothing where none is.
    rejectUnauthorized: mode !== "require" || hasAuthority,
    ...(mode === "verify-full" ? {} : { checkServerIdentity: () => undefined }),
  };
  // Defined as an own property, since pg copies the options for each connection.
  return Object.defineProperty(options, "secureContext", { enumerable: true, get: () => files.context() });
}

const where = ({ host, pathname }: URL) => `the URL of database ${host}${pathname}`;

const certificateFailure = /^(CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|ERR_TLS_CERT_|ERR_SSL_|HOSTNAME_MISMATCH)/;

/** Whether the server's TLS, or its refusal of ours, is why there is no connection. */
export function isTlsFailure(error: unknown): boolean {
  if (certificateFailure.test(codeOf(error))) return true;
  return /does not support SSL connections|establishing an SSL connection/.test(messageOf(error));
}
