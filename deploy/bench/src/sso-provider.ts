import { createSign, generateKeyPairSync } from "node:crypto";
import { createServer } from "node:https";
import { testCertificate } from "@muster/testing";

// The provider side of the bench `sso`, a separate process: node sso-provider.js NAME PORT. It answers as fast as it
// can and checks nothing.
const [name = "", port = ""] = process.argv.slice(2);
const issuer = `https://${name}:${port}`;
const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
const keys = JSON.stringify({
  keys: [{ ...publicKey.export({ format: "jwk" }), kid: "bench", alg: "ES256", use: "sig" }],
});
const discovery = JSON.stringify({
  issuer,
  authorization_endpoint: `${issuer}/authorize`,
  token_endpoint: `${issuer}/token`,
  jwks_uri: `${issuer}/keys`,
  id_token_signing_alg_values_supported: ["ES256"],
});

const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
const head = encode({ alg: "ES256", kid: "bench", typ: "JWT" });

/** A code is `<person>.<nonce>`: nothing has to be remembered. */
function tokensOf(code: string): string {
  const [user = "", nonce = ""] = code.split(".");
  const now = Math.floor(Date.now() / 1_000);
  const email = `${user}@bench.example`;
  const claims = {
    iss: issuer,
    aud: "muster",
    sub: user,
    nonce,
    iat: now,
    exp: now + 300,
    email,
    email_verified: true,
    name: user,
  };
  const text = `${head}.${encode(claims)}`;
  const signature = createSign("sha256")
    .update(text)
    .sign({ key: privateKey, dsaEncoding: "ieee-p1363" })
    .toString("base64url");
  return JSON.stringify({
    access_token: "bench",
    token_type: "Bearer",
    expires_in: 300,
    id_token: `${text}.${signature}`,
  });
}

createServer(testCertificate(), (request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    response.setHeader("content-type", "application/json");
    if (request.url === "/keys") response.end(keys);
    else if (request.url === "/token") {
      response.end(tokensOf(new URLSearchParams(Buffer.concat(chunks).toString()).get("code") ?? ""));
    } else response.end(discovery);
  });
}).listen(Number(port), "127.0.0.1", () => process.send?.("ready"));
