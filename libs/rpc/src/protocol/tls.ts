import { ConfigError, type Logger, type TlsFiles, tlsFiles } from "@muster/kit";

const names = { ca: "RPC_TLS_CA_PATH", cert: "RPC_TLS_CERT_PATH", key: "RPC_TLS_KEY_PATH" };

export type RpcTlsSettings = {
  RPC_TLS_CA_PATH?: string | undefined;
  RPC_TLS_CERT_PATH?: string | undefined;
  RPC_TLS_KEY_PATH?: string | undefined;
};

let ofThisProcess: TlsFiles | null = null;

/**
 * Makes every port and transport of this process use mutual TLS with these files; without them nothing changes. Called
 * once, before the first. Throws ConfigError that names what is missing or wrong.
 */
export function useRpcTls(settings: RpcTlsSettings, log?: Logger): void {
  const { RPC_TLS_CA_PATH: ca, RPC_TLS_CERT_PATH: cert, RPC_TLS_KEY_PATH: key } = settings;
  if (!ca && !cert && !key) return;
  if (!ca || !cert || !key) {
    throw new ConfigError([`${Object.values(names).join(", ")}: mutual TLS takes all three, or none of them`]);
  }
  ofThisProcess = tlsFiles({ ca, cert, key }, names, log);
}

/** Files of this process, for ports and transports without their own; null: no TLS. */
export const processTls = (): TlsFiles | null => ofThisProcess;

/** Throws ConfigError for the URL of a service that does not agree with whether there is TLS. */
export function assertScheme(baseUrl: URL, tls: TlsFiles | null): void {
  if (baseUrl.protocol === "https:" && !tls) {
    throw new ConfigError([`${baseUrl.origin}: https between services takes ${Object.values(names).join(", ")}`]);
  }
  if (baseUrl.protocol === "http:" && tls) {
    throw new ConfigError([`${baseUrl.origin}: must be https, since RPC_TLS_CERT_PATH is set`]);
  }
}
