type Environment = Readonly<Record<string, string | undefined>>;

/** Ports of URLs that name none. */
const ports: Readonly<Record<string, number>> = { "http:": 80, "https:": 443 };

/**
 * The proxy that the environment names for a URL, by the rules by which undici reads HTTPS_PROXY, HTTP_PROXY and
 * NO_PROXY for requests: the channel takes the same way. Null for none.
 */
export function proxyFor(url: string, env: Environment = process.env): string | null {
  const { protocol, hostname, port } = new URL(url);
  if (isExcluded(hostname.toLowerCase(), Number(port) || (ports[protocol] ?? 0), env.no_proxy ?? env.NO_PROXY ?? "")) {
    return null;
  }
  const ofHttp = env.http_proxy ?? env.HTTP_PROXY;
  const named = protocol === "https:" ? (env.https_proxy ?? env.HTTPS_PROXY) || ofHttp : ofHttp;
  return named || null;
}

function isExcluded(hostname: string, port: number, noProxy: string): boolean {
  if (noProxy === "*") return true;
  const entries = noProxy.split(/[,\s]/).filter((entry) => entry !== "");
  return entries.some((entry) => {
    const [, named = entry, onPort] = /^(.+):(\d+)$/.exec(entry) ?? [];
    const host = named.replace(/^\*?\./, "").toLowerCase();
    if (onPort !== undefined && Number(onPort) !== port) return false;
    return hostname === host || hostname.endsWith(`.${host}`);
  });
}
