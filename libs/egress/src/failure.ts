import { HTTPParserError } from "@muster/kit/undici";
import { ProxyFailed } from "./forward-proxy.ts";
import { EgressRefused } from "./refused.ts";

export type ExchangeError =
  | "unsafe_url"
  | "dns"
  | "connect_timeout"
  | "timeout"
  | "tls"
  | "connection_refused"
  | "connection_reset"
  | "unreachable"
  | "bad_response"
  | "proxy"
  | "aborted"
  | "network";

export type Failure = { code: ExchangeError; message: string };

/** Codes of OpenSSL and Node about a handshake or a certificate. */
const tls =
  /^(ERR_TLS|ERR_SSL|ERR_OSSL|EPROTO|CERT_|CRL_|UNABLE_TO_|ERROR_IN_C|DEPTH_ZERO|SELF_SIGNED|HOSTNAME_MISMATCH|INVALID_(CA|PURPOSE)|PATH_LENGTH)/;

/** Patterns of these codes, and their meaning for the receiver's operator. The first that matches counts. */
const tlsCauses: [RegExp, string][] = [
  [/CERT_HAS_EXPIRED/, "the certificate has expired"],
  [/CERT_NOT_YET_VALID/, "the certificate is not valid yet"],
  [/CERT_REVOKED/, "the certificate is revoked"],
  [/SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_(GET_ISSUER|VERIFY)|CERT_UNTRUSTED/, "no trusted authority vouches for it"],
  [/SELF_SIGNED/, "the certificate is self-signed"],
  [/ALTNAME_INVALID|HOSTNAME_MISMATCH/, "the certificate is for another name"],
  [/INVALID_PURPOSE/, "the certificate is not one for servers"],
  [/INVALID_CA|PATH_LENGTH|CHAIN_TOO_LONG/, "the certificate's chain is not one of authorities"],
  [/KEY_TOO_SMALL|MD_TOO_WEAK/, "the receiver's key or signature is too weak"],
  [/NO_APPLICATION_PROTOCOL/, "the receiver speaks HTTP/2 only, and requests are HTTP/1.1"],
  [/ALERT_CERTIFICATE_REQUIRED/, "the receiver demands a client certificate, and none is sent"],
  [/ALERT_HANDSHAKE_FAILURE/, "the receiver shares no cipher with us, or demands a client certificate"],
  [/PROTOCOL_VERSION|UNSUPPORTED_PROTOCOL|NO_PROTOCOLS/, "the receiver speaks no TLS 1.2 or newer"],
  [/UNRECOGNIZED_NAME/, "the receiver does not serve this host name"],
  [/WRONG_VERSION_NUMBER|PACKET_LENGTH|HTTP_REQUEST|RECORD_/, "what listens on that port does not speak TLS"],
  [/^(CERT_|CRL_|UNABLE_TO_|ERROR_IN_C)/, "the certificate cannot be verified"],
];

const tlsWords = (code: string): string =>
  tlsCauses.find(([pattern]) => pattern.test(code))?.[1] ?? "the handshake was refused";

/** Reasons of the parser, and their meaning. */
const httpCauses: [RegExp, string][] = [
  [/Expected HTTP\//, "The answer is not HTTP"],
  [/Duplicate Content-Length/, "The answer states two different lengths"],
  [/Content-Length/, "The answer's length is invalid"],
  [/Transfer-Encoding/, "The answer's transfer encoding is invalid"],
  [/header/i, "A header of the answer is invalid"],
  [/CR|LF|whitespace|space/, "A line of the answer does not end as HTTP demands, in CR LF"],
  [/status|version/i, "The answer's status line is invalid"],
  [/interim/, "The receiver sends interim answers only"],
];

/** Whether bytes begin with a SETTINGS frame, as each connection of HTTP/2 does (RFC 9113, section 3.4). */
const isHttp2 = (bytes: string): boolean => bytes.length >= 9 && bytes.charCodeAt(0) === 0 && bytes.charCodeAt(3) === 4;

function notHttp(error: InstanceType<typeof HTTPParserError>): Failure {
  if (isHttp2(String(Reflect.get(error, "data") ?? ""))) {
    return { code: "bad_response", message: "The receiver speaks HTTP/2 only, and requests are HTTP/1.1" };
  }
  const { message } = error;
  const reason = message.endsWith(")") ? message.slice(message.indexOf("(") + 1, -1) : message;
  const words = httpCauses.find(([pattern]) => pattern.test(reason))?.[1] ?? "The answer breaks HTTP";
  return { code: "bad_response", message: `${words} (${reason})` };
}

/** undici's one code for a connection that ended has its cause in the message. */
function ended(message: string): Failure {
  if (message === "bad upgrade") return { code: "bad_response", message: "The receiver switched to another protocol" };
  if (message === "bad response") return { code: "bad_response", message: "The receiver answered without a request" };
  return { code: "connection_reset", message: "The connection ended before an answer came" };
}

type SystemError = Error & { code?: string; errors?: SystemError[] };

/**
 * Why no answer came, in words for the person who named the URL, with the code beside: never an address of ours, a URL
 * or a stack.
 */
export function failureOf(error: SystemError): Failure {
  const first = error.errors?.[0];
  if (first) return failureOf(first);
  if (error instanceof EgressRefused) {
    return { code: error.reason === "unresolvable" ? "dns" : "unsafe_url", message: error.message };
  }
  if (error instanceof ProxyFailed) return { code: "proxy", message: error.message };
  if (error instanceof HTTPParserError) return notHttp(error);
  const code = error.code ?? "";
  if (tls.test(code)) return { code: "tls", message: `TLS failed: ${tlsWords(code)} (${code})` };
  const failure = byCode(code, error.message);
  return code === "" ? failure : { ...failure, message: `${failure.message} (${code})` };
}

function byCode(code: string, message: string): Failure {
  switch (code) {
    case "UND_ERR_CONNECT_TIMEOUT":
      return { code: "connect_timeout", message: "Connecting timed out" };
    case "UND_ERR_HEADERS_OVERFLOW":
      return { code: "bad_response", message: "The answer's headers are larger than 64 KB" };
    case "ERR_ASSERTION":
      return { code: "bad_response", message: "The answer breaks HTTP" };
    case "ECONNREFUSED":
      return { code: "connection_refused", message: "Connection refused" };
    case "UND_ERR_SOCKET":
      return ended(message);
    case "ECONNRESET":
    case "EPIPE":
      return {
        code: "connection_reset",
        message: message.includes("before secure TLS")
          ? "The connection ended during the TLS handshake"
          : "The connection ended before an answer came",
      };
    case "EHOSTDOWN":
    case "EHOSTUNREACH":
    case "ENETDOWN":
    case "ENETUNREACH":
    case "ETIMEDOUT":
      return { code: "unreachable", message: "The host cannot be reached" };
    default:
      return { code: "network", message: "The request failed" };
  }
}
