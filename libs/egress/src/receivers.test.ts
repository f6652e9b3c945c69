import { readFileSync } from "node:fs";
import { createSecureServer } from "node:http2";
import { createServer as createHttps } from "node:https";
import { createServer as createTcp, type Server, type Socket } from "node:net";
import { createServer as createTls, type TlsOptions } from "node:tls";
import { afterEach, describe, expect, it } from "@jest/globals";
import { listening, testCaFile, testCertificate } from "@muster/testing";
import { openEgress } from "./egress.ts";
import { parseExceptions } from "./exceptions.ts";
import { failureOf } from "./failure.ts";
import { guardedFetch } from "./fetch.ts";

// What receivers answer in practice: either it is accepted, or the failure says in words what happened.

const name = "hooks.example.test";
const clientOnly = testCertificate("client-only");
const ca = [readFileSync(testCaFile, "utf8"), clientOnly.cert.toString()].join("\n");
const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function egressTo(server: Server, scheme: "http" | "https") {
  const { port, close } = await listening(server);
  closing.push(close);
  const origin = `${scheme}://${name}:${port}`;
  const exceptions = parseExceptions(`${origin}=127.0.0.1`, "test");
  const egress = openEgress({ profile: "webhook", exceptions, ca });
  closing.push(() => egress.close());
  return { egress, url: `${origin}/hook` };
}

async function poster(server: Server, scheme: "http" | "https" = "http") {
  const { egress, url } = await egressTo(server, scheme);
  return async () =>
    egress.send(await egress.check(url), {
      method: "POST",
      headers: ["content-type", "application/json"],
      body: Buffer.from("{}"),
      timeoutMs: 1_500,
      keepBytes: 4_096,
      drainBytes: 65_536,
    });
}

/** Answers each request on a connection with these pieces, each in a segment of its own. */
function answering(...pieces: (string | Buffer)[]): Server {
  return createTcp((socket) => {
    socket.setNoDelay(true).on("error", () => undefined);
    socket.on(
      "data",
      () =>
        void (async () => {
          for (const piece of pieces)
            await new Promise<void>((written) => void socket.write(piece, () => setImmediate(written)));
        })(),
    );
  });
}

/** Answers, and ends the connection. */
const lastly = (text: string): Server => createTcp((socket) => void socket.once("data", () => socket.end(text)));
const ok = "HTTP/1.1 200 OK\r\n";
const body = "content-length: 2\r\n\r\nok";
const letters = (text: string) => [...text];
const endless = (piece: string) => (socket: Socket) => {
  const more = () => {
    while (!socket.destroyed && socket.write(piece));
  };
  socket.on("error", () => undefined).on("drain", () => setImmediate(more));
  socket.once("data", more);
};

const accepted: [string, Server, { status: number; body: string }][] = [
  ["a length", answering(`${ok}${body}`), { status: 200, body: "ok" }],
  ["no body", answering("HTTP/1.1 204 No Content\r\n\r\n"), { status: 204, body: "" }],
  ["no reason", answering(`HTTP/1.1 202\r\n${body}`), { status: 202, body: "ok" }],
  ["a reason in UTF-8", answering(`HTTP/1.1 200 schön\r\n${body}`), { status: 200, body: "ok" }],
  ["a status of no standard", answering(`HTTP/1.1 299 Odd\r\n${body}`), { status: 299, body: "ok" }],
  ["a failure", answering(`HTTP/1.1 500 Oops\r\n${body}`), { status: 500, body: "ok" }],
  ["HTTP/1.0", lastly("HTTP/1.0 200 OK\r\n\r\nok"), { status: 200, body: "ok" }],
  ["the connection's end as the body's", lastly(`${ok}connection: close\r\n\r\nok`), { status: 200, body: "ok" }],
  ["chunks", answering(`${ok}transfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n`), { status: 200, body: "ok" }],
  [
    "chunks with extensions and trailers",
    answering(`${ok}transfer-encoding: chunked\r\n\r\n2;a=b\r\nok\r\n0\r\nx-sum: 1\r\n\r\n`),
    { status: 200, body: "ok" },
  ],
  ["one letter at a time", answering(...letters(`${ok}${body}`)), { status: 200, body: "ok" }],
  ["an empty line first", answering(`\r\n${ok}${body}`), { status: 200, body: "ok" }],
  ["an empty header", answering(`${ok}x-a:\r\n${body}`), { status: 200, body: "ok" }],
  ["more than its length", answering(`${ok}${body}more`), { status: 200, body: "ok" }],
  ["less than its length", lastly(`${ok}content-length: 9\r\n\r\nok`), { status: 200, body: "ok" }],
  ["one header of 60 KB", answering(`${ok}x-a: ${"y".repeat(61_440)}\r\n${body}`), { status: 200, body: "ok" }],
  [
    "600 headers of 100 bytes",
    answering(ok + `x-a: ${"y".repeat(95)}\r\n`.repeat(600) + body),
    { status: 200, body: "ok" },
  ],
  ["a 100 Continue", answering(`HTTP/1.1 100 Continue\r\n\r\n${ok}${body}`), { status: 200, body: "ok" }],
  [
    "a 100 Continue in pieces",
    answering(...letters(`HTTP/1.1 100 Continue\r\n\r\n${ok}${body}`)),
    { status: 200, body: "ok" },
  ],
  ["a 100 Continue with headers", answering("HTTP/1.1 100\r\nx-a: 1\r\n\r\n", ok, body), { status: 200, body: "ok" }],
  [
    "32 times 100 Continue",
    answering("HTTP/1.1 100 Continue\r\n\r\n".repeat(32), ok + body),
    { status: 200, body: "ok" },
  ],
  ["102 Processing", answering("HTTP/1.1 102 Processing\r\n\r\n", ok + body), { status: 200, body: "ok" }],
  [
    "103 Early Hints",
    answering(`HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n${ok}${body}`),
    { status: 200, body: "ok" },
  ],
  ["a length twice", answering(`${ok}Content-Length: 2\r\n${body}`), { status: 200, body: "ok" }],
  [
    "a length three times, in between",
    answering(`${ok}CONTENT-LENGTH:2\r\nx: 1\r\nContent-Length: 2 \r\n${body}`),
    { status: 200, body: "ok" },
  ],
  [
    "a length twice, in pieces",
    answering(...letters(`${ok}content-length: 2\r\n${body}`)),
    { status: 200, body: "ok" },
  ],
  ["a length as a list", answering(`${ok}content-length: 2, 2\r\n\r\nok`), { status: 200, body: "ok" }],
  [
    "a length twice after 100 Continue",
    answering(`HTTP/1.1 100 C\r\n\r\n${ok}content-length: 2\r\n${body}`),
    { status: 200, body: "ok" },
  ],
  [
    "a header that begins as a length",
    answering(`${ok}content-length-x: ${"3".repeat(400)}\r\n${body}`),
    { status: 200, body: "ok" },
  ],
  [
    "Content-Length in its body",
    answering(`${ok}content-length: 36\r\n\r\ncontent-length: 2\r\ncontent-length: 2`),
    { status: 200, body: "content-length: 2\r\ncontent-length: 2" },
  ],
];

const refused: [string, Server, string, RegExp][] = [
  [
    "two different lengths",
    answering(`${ok}content-length: 3\r\n${body}`),
    "bad_response",
    /^The answer states two different lengths \(Duplicate Content-Length\)$/,
  ],
  [
    "a list of different lengths",
    answering(`${ok}content-length: 2, 3\r\n\r\nok`),
    "bad_response",
    /^The answer's length is invalid \(.*Content-Length\)$/,
  ],
  [
    "a length that is none",
    answering(`${ok}content-length: two\r\n\r\nok`),
    "bad_response",
    /^The answer's length is invalid \(.*Content-Length\)$/,
  ],
  [
    "a length beside chunks",
    answering(`${ok}transfer-encoding: chunked\r\n${body}`),
    "bad_response",
    /^The answer('s length| states|'s transfer).* \(.+\)$/,
  ],
  [
    "headers beyond 64 KB",
    answering(`${ok}x-a: ${"y".repeat(66_000)}\r\n${body}`),
    "bad_response",
    /^The answer's headers are larger than 64 KB \(UND_ERR_HEADERS_OVERFLOW\)$/,
  ],
  [
    "lines that end in LF alone",
    answering(`${ok}${body}`.replaceAll("\r", "")),
    "bad_response",
    /^A line of the answer does not end as HTTP demands, in CR LF \(.+\)$/,
  ],
  [
    "a folded header",
    answering(`${ok}x-a: 1\r\n 2\r\n${body}`),
    "bad_response",
    /^A header of the answer is invalid \(.+\)$/,
  ],
  [
    "a space before a colon",
    answering(`${ok}x-a : 1\r\n${body}`),
    "bad_response",
    /^A header of the answer is invalid \(.+\)$/,
  ],
  [
    "a status below 100",
    answering(`HTTP/1.1 042 Odd\r\n${body}`),
    "bad_response",
    /^The answer breaks HTTP \(ERR_ASSERTION\)$/,
  ],
  [
    "a status of four digits",
    answering(`HTTP/1.1 2000 OK\r\n${body}`),
    "bad_response",
    /^The answer's status line is invalid \(.+\)$/,
  ],
  [
    "an unknown version",
    answering(`HTTP/9.9 200 OK\r\n${body}`),
    "bad_response",
    /^The answer's status line is invalid \(.+\)$/,
  ],
  [
    "interim answers alone",
    createTcp(endless("HTTP/1.1 103 Early Hints\r\n\r\n".repeat(100))),
    "bad_response",
    /^The receiver sends interim answers only \(More than 32 interim answers\)$/,
  ],
  [
    "another protocol",
    answering("HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n"),
    "bad_response",
    /^The receiver switched to another protocol \(UND_ERR_SOCKET\)$/,
  ],
  [
    "a mail server's greeting",
    answering("220 smtp ready\r\n"),
    "bad_response",
    /^The answer is not HTTP \(Expected HTTP\/.*\)$/,
  ],
  [
    "HTTP/2 unasked",
    answering(Buffer.from("000006040000000000000400010000", "hex")),
    "bad_response",
    /^The receiver speaks HTTP\/2 only/,
  ],
  [
    "nothing, and ends",
    lastly(""),
    "connection_reset",
    /^The connection ended before an answer came \(UND_ERR_SOCKET\)$/,
  ],
  [
    "half a status line, and ends",
    lastly("HTTP/1.1 2"),
    "connection_reset",
    /^The connection ended before an answer came \(UND_ERR_SOCKET\)$/,
  ],
  [
    "a reset",
    createTcp((socket) => void socket.once("data", () => socket.resetAndDestroy())),
    "connection_reset",
    /^The connection ended before an answer came \(ECONNRESET\)$/,
  ],
];

const secure = (options: TlsOptions = {}) =>
  createHttps({ ...testCertificate(), ...options }, (_request, response) => response.end("ok"));

const byTls: [string, Server, RegExp][] = [
  [
    "a certificate for clients",
    secure(clientOnly),
    /^TLS failed: the certificate is not one for servers \(INVALID_PURPOSE\)$/,
  ],
  [
    "an expired certificate",
    secure(testCertificate("expired")),
    /^TLS failed: the certificate has expired \(CERT_HAS_EXPIRED\)$/,
  ],
  [
    "a self-signed certificate",
    secure(testCertificate("self-signed")),
    /^TLS failed: the certificate is self-signed \(DEPTH_ZERO_SELF_SIGNED_CERT\)$/,
  ],
  [
    "another name's certificate",
    secure(testCertificate("other-name")),
    /^TLS failed: the certificate is for another name \(ERR_TLS_CERT_ALTNAME_INVALID\)$/,
  ],
  [
    "HTTP/2 only",
    createSecureServer(testCertificate()),
    /^TLS failed: the receiver speaks HTTP\/2 only, and requests are HTTP\/1.1 \(ERR_SSL_\w+\)$/,
  ],
  [
    "HTTP/2 without asking",
    createTls(
      testCertificate(),
      (socket) => void socket.on("error", () => undefined).write(Buffer.from("000006040000000000000400010000", "hex")),
    ),
    /^The receiver speaks HTTP\/2 only, and requests are HTTP\/1.1$/,
  ],
  [
    "no cipher in common",
    secure({ maxVersion: "TLSv1.2", ciphers: "PSK" }),
    /^TLS failed: the receiver shares no cipher with us, .* \(ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE\)$/,
  ],
  [
    "a demand for a client certificate",
    secure({ requestCert: true, rejectUnauthorized: true }),
    /^TLS failed: the receiver demands a client certificate, and none is sent \(ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED\)$/,
  ],
  [
    "a demand for a client certificate, by TLS 1.2",
    secure({ maxVersion: "TLSv1.2", requestCert: true, rejectUnauthorized: true }),
    /^TLS failed: .* demands a client certificate \(ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE\)$/,
  ],
  [
    "plain HTTP",
    answering(`HTTP/1.1 400 Bad Request\r\n${body}`),
    /^TLS failed: what listens on that port does not speak TLS \(ERR_SSL_WRONG_VERSION_NUMBER\)$/,
  ],
  ["an end of the handshake", lastly(""), /^The connection ended during the TLS handshake \(ECONNRESET\)$/],
];

describe("a receiver that answers with", () => {
  it.each(accepted)("%s is accepted", async (_what, server, wanted) => {
    const result = await (await poster(server))();
    expect({ error: result.error, status: result.status, body: result.body.toString() }).toEqual({
      error: null,
      ...wanted,
    });
  });

  it.each(refused)("%s fails with words and a code", async (_what, server, code, message) => {
    const { status, error } = await (await poster(server))();
    expect({ status, error }).toEqual({ status: null, error: { code, message: expect.stringMatching(message) } });
  });

  it.each(byTls)("%s, over TLS, fails with words and a code", async (_what, server, message) => {
    const { status, error } = await (await poster(server, "https"))();
    expect({ status, message: error?.message }).toEqual({ status: null, message: expect.stringMatching(message) });
  });

  it("is one of at least 50 in these tables", () => {
    expect(accepted.length + refused.length + byTls.length).toBeGreaterThanOrEqual(50);
  });
});

describe("a connection whose answers were unusual", () => {
  it("is used again, and each answer is read from its own beginning", async () => {
    const bodies = ["one", "three", "ok"];
    let at = 0;
    const server = createTcp((socket) => {
      socket.on("data", () => {
        const text = bodies[at++ % bodies.length] ?? "";
        const length = `Content-Length: ${text.length}\r\n`;
        socket.write(`HTTP/1.1 100 Continue\r\n\r\n${ok}${length}${length}\r\n${text}`);
      });
    });
    const post = await poster(server);
    for (const text of [...bodies, ...bodies]) {
      const { status, body: read, error } = await post();
      expect([status, read.toString(), error]).toEqual([200, text, null]);
    }
    expect((await post()).reused).toBe(true);
  });

  it("is accepted for identity providers and release sources, too", async () => {
    const { egress, url } = await egressTo(
      answering("HTTP/1.1 100 C\r\n\r\n", `${ok}content-length: 2\r\n${body}`),
      "http",
    );
    expect(await (await guardedFetch(egress)(url)).text()).toBe("ok");
  });
});

describe("a failure's code", () => {
  // https://nodejs.org/api/tls.html#x509-certificate-error-codes
  const certificateCodes =
    "UNABLE_TO_GET_ISSUER_CERT UNABLE_TO_GET_CRL UNABLE_TO_DECRYPT_CERT_SIGNATURE UNABLE_TO_DECRYPT_CRL_SIGNATURE UNABLE_TO_DECODE_ISSUER_PUBLIC_KEY CERT_SIGNATURE_FAILURE CRL_SIGNATURE_FAILURE CERT_NOT_YET_VALID CERT_HAS_EXPIRED CRL_NOT_YET_VALID CRL_HAS_EXPIRED ERROR_IN_CERT_NOT_BEFORE_FIELD ERROR_IN_CERT_NOT_AFTER_FIELD ERROR_IN_CRL_LAST_UPDATE_FIELD ERROR_IN_CRL_NEXT_UPDATE_FIELD DEPTH_ZERO_SELF_SIGNED_CERT SELF_SIGNED_CERT_IN_CHAIN UNABLE_TO_GET_ISSUER_CERT_LOCALLY UNABLE_TO_VERIFY_LEAF_SIGNATURE CERT_CHAIN_TOO_LONG CERT_REVOKED INVALID_CA PATH_LENGTH_EXCEEDED INVALID_PURPOSE CERT_UNTRUSTED CERT_REJECTED HOSTNAME_MISMATCH";

  it.each(certificateCodes.split(" "))("%s of a certificate has words", (code) => {
    const { code: kind, message } = failureOf(Object.assign(new Error("x"), { code }));
    expect([kind, message]).toEqual(["tls", expect.stringMatching(/^TLS failed: .*(certificate|vouches).* \(.+\)$/)]);
  });

  it.each([
    ["ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED", /^TLS failed: the receiver demands a client certificate, and none/],
    ["ERR_SSL_TLSV1_UNRECOGNIZED_NAME", /does not serve this host name/],
    ["ERR_SSL_DH_KEY_TOO_SMALL", /too weak/],
    ["ERR_SSL_SOMETHING_NEW", /^TLS failed: the handshake was refused \(ERR_SSL_SOMETHING_NEW\)$/],
    ["EHOSTUNREACH", /^The host cannot be reached \(EHOSTUNREACH\)$/],
    ["UND_ERR_CONNECT_TIMEOUT", /^Connecting timed out \(/],
    ["SOMETHING_ELSE", /^The request failed \(SOMETHING_ELSE\)$/],
  ])("%s stands beside its words", (code, message) => {
    expect(failureOf(Object.assign(new Error("at 10.0.0.1"), { code })).message).toMatch(message);
    expect(failureOf(new Error("at 10.0.0.1")).message).toBe("The request failed");
  });
});
