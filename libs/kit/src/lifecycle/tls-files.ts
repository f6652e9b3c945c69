import { readFileSync, statSync } from "node:fs";
import { createSecureContext, type SecureContext } from "node:tls";
import { codeOf, messageOf } from "../errors/caught.ts";
import { type BusTlsSettings, ConfigError } from "../settings/config.ts";
import type { Logger } from "../telemetry/logger.ts";

/**
 * Paths of PEM files: authorities (several in one file while one replaces another), a certificate with its chain, its
 * key.
 */
export type TlsPaths = { ca?: string | undefined; cert?: string | undefined; key?: string | undefined };
type Part = keyof TlsPaths;

export type TlsMaterial = { ca?: string; cert?: string; key?: string };

export type TlsFiles = {
  /**
   * What the files hold now; what they held last while they do not fit together (a rotation writes them one by one).
   */
  material(): TlsMaterial;
  /** The contents in the form that `tls.connect` takes. */
  context(): SecureContext;
  /** Number that rises whenever other contents are in use. */
  version(): number;
};

const lookMs = 1_000;

const busNames = { ca: "NATS_TLS_CA_PATH", cert: "NATS_TLS_CERT_PATH", key: "NATS_TLS_KEY_PATH" };

/** The files for NATS, which reads them for each connection itself. Throws ConfigError as `tlsFiles` does. */
export function busTls(settings: BusTlsSettings): TlsPaths {
  const paths = {
    ca: settings.NATS_TLS_CA_PATH,
    cert: settings.NATS_TLS_CERT_PATH,
    key: settings.NATS_TLS_KEY_PATH,
  };
  tlsFiles(paths, busNames);
  return paths;
}

/**
 * Certificates that are read again when their files change, so that nothing is restarted for a new one. Throws
 * ConfigError that names the setting (`names` of each path) of every file that cannot be read, and the pair when
 * certificate and key do not belong together.
 */
export function tlsFiles(paths: TlsPaths, names: Readonly<Record<Part, string>>, log?: Logger): TlsFiles {
  const configured = (["ca", "cert", "key"] as const).flatMap((part) => {
    const path = paths[part];
    return path === undefined ? [] : [{ part, path }];
  });
  const problems: string[] = [];
  if ((paths.cert === undefined) !== (paths.key === undefined)) {
    problems.push(`${names.cert} and ${names.key} are given together or not at all`);
  }
  for (const { part, path } of configured) {
    try {
      readFileSync(path);
    } catch (error) {
      problems.push(`${names[part]}: cannot read ${path} (${codeOf(error) || "error"})`);
    }
  }
  if (problems.length > 0) throw new ConfigError(problems);

  const read = () => {
    const material: TlsMaterial = Object.fromEntries(
      configured.map(({ part, path }) => [part, readFileSync(path, "utf8")]),
    );
    return { material, context: createSecureContext(material) };
  };
  // Secrets are swapped by a symlink: another inode, perhaps with the same time.
  const stamp = () =>
    configured.map(({ path }) => [statSync(path).ino, statSync(path).mtimeMs, statSync(path).size].join()).join();
  let stamped = stamp();
  let current: ReturnType<typeof read>;
  try {
    current = read();
  } catch (cause) {
    const settings = configured.map(({ part }) => names[part]).join(", ");
    throw new ConfigError([`${settings}: the files do not hold PEM that belongs together (${messageOf(cause)})`]);
  }
  let version = 1;
  let lookedMs = performance.now();

  const look = () => {
    const nowMs = performance.now();
    if (nowMs - lookedMs < lookMs) return;
    lookedMs = nowMs;
    try {
      const stampedNow = stamp();
      if (stampedNow === stamped) return;
      const next = read();
      const changed = JSON.stringify(next.material) !== JSON.stringify(current.material);
      stamped = stampedNow;
      if (!changed) return;
      current = next;
      version += 1;
      log?.info({ files: configured.map(({ path }) => path) }, "certificates changed, new connections use them");
    } catch (err) {
      // Half of a rotation, mostly: the other half is looked for in a second.
      log?.warn(
        { err, files: configured.map(({ path }) => path) },
        "certificates cannot be used, the former ones stay",
      );
    }
  };

  return {
    material() {
      look();
      return current.material;
    },
    context() {
      look();
      return current.context;
    },
    version() {
      look();
      return version;
    },
  };
}
