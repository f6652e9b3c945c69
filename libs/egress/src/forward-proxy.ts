import { connect as connectTcp, isIPv6, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";

/** An HTTP proxy of the operator. */
export type ForwardProxy = {
  host: string;
  port: number;
  /** The connection to the proxy itself is TLS. */
  isTls: boolean;
  /** `Proxy-Authorization`; null without userinfo. */
  authorization: string | null;
};

const hasStrayPercent = /%(?![0-9a-f]{2})/i;

/** The proxy refused a tunnel, or none could be asked for. */
export class ProxyFailed extends Error {
  constructor(message: string, options: { cause?: unknown } = {}) {
    super(message, options);
    this.name = "ProxyFailed";
  }
}

/**
 * Parses the URL of a forward proxy, `http[s]://[user:password@]host[:port]`; null for an empty text. Throws on
 * anything else, without the text: it may hold a password.
 */
export function parseForwardProxy(text: string): ForwardProxy | null {
  if (text === "") return null;
  const url = URL.canParse(text) ? new URL(text) : null;
  const isProxy = url && /^https?:$/.test(url.protocol) && url.pathname === "/" && url.search === "" && url.hash === "";
  if (!isProxy || hasStrayPercent.test(text)) throw new Error("must be http[s]://[user:password@]host[:port]");
  const isTls = url.protocol === "https:";
  const userinfo = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
  return {
    host: url.hostname.replace(/^\[|\]$/g, ""),
    port: Number(url.port || (isTls ? 443 : 80)),
    isTls,
    authorization: userinfo === ":" ? null : `Basic ${Buffer.from(userinfo).toString("base64")}`,
  };
}

type Opened = (error: ProxyFailed | null, socket: Socket | null) => void;
const maxHeadBytes = 16_384;

/**
 * Opens a tunnel (CONNECT, RFC 9110 section 9.3.6) to an address, not to a name: the proxy resolves nothing, so that
 * the checked address is the one that is reached. Calls `opened` once, after `timeoutMs` at the latest.
 */
export function openTunnel(
  proxy: ForwardProxy,
  to: { address: string; port: number },
  timeoutMs: number,
  opened: Opened,
) {
  const { host, port, isTls, authorization } = proxy;
  const authority = `${isIPv6(to.address) ? `[${to.address}]` : to.address}:${to.port}`;
  const socket = isTls
    ? connectTls({ host, port, servername: host, minVersion: "TLSv1.2" })
    : connectTcp({ host, port });
  let head = Buffer.alloc(0);
  const settle = (message: string | null, cause?: unknown) => {
    clearTimeout(timer);
    socket.off("readable", read).off("error", onError).off("close", onClose);
    if (message === null) return opened(null, socket);
    // Errors of a socket that nobody waits for any more.
    socket.once("error", () => undefined).destroy();
    opened(new ProxyFailed(message, { cause }), null);
  };
  const onError = (cause: Error) => settle("The forward proxy cannot be reached", cause);
  const onClose = () => settle("The forward proxy ended the connection");
  const read = () => {
    for (let chunk: Buffer | null = socket.read(); chunk !== null; chunk = socket.read()) {
      head = Buffer.concat([head, chunk]);
      const end = head.indexOf("\r\n\r\n");
      if (end === -1 && head.length < maxHeadBytes) continue;
      const [, status = ""] = /^HTTP\/1\.[01] (\d{3})[ \r]/.exec(head.toString("latin1")) ?? [];
      if (end === -1 || status === "") return settle("The forward proxy's answer is not HTTP");
      if (!status.startsWith("2")) return settle(`The forward proxy answered ${status}`);
      // A receiver says nothing before we do.
      return settle(head.length > end + 4 ? "The forward proxy sent more than its answer" : null);
    }
  };
  const timer = setTimeout(() => settle("The forward proxy did not answer in time"), timeoutMs);
  socket.on("readable", read).once("error", onError).once("close", onClose).setNoDelay(true);
  const lines = [`CONNECT ${authority} HTTP/1.1`, `Host: ${authority}`];
  if (authorization !== null) lines.push(`Proxy-Authorization: ${authorization}`);
  socket.write(`${lines.join("\r\n")}\r\n\r\n`);
}
