import { generateKeyPairSync, sign } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { AppError, createLogger, Readiness, uuidv7 } from "@muster/kit";
import { PrincipalSchema, SessionService } from "@muster/proto/muster/identity/v1/session_pb";
import { createVerifier, generateCallerKey, register, servePort } from "@muster/rpc";

export type BenchIdentity = {
  url: string;
  /** Caller key of the gateway. */
  callerKeys: string;
  accessToken: string;
  close(): Promise<void>;
};

const refuse = () => {
  throw new AppError("unavailable", "The bench serves no such call");
};

/** An identity service in this process that knows one administrator, so that the bench needs no stack. */
export async function startBenchIdentity(): Promise<BenchIdentity> {
  const directory = mkdtempSync(join(tmpdir(), "muster-bench-"));
  const callerKey = generateCallerKey();
  mkdirSync(join(directory, "gateway"));
  writeFileSync(join(directory, "gateway", `${callerKey.kid}.pem`), callerKey.publicPem);
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const jwk = { ...publicKey.export({ format: "jwk" }), kid: "bench", alg: "ES256", use: "sig" };
  const principal = create(PrincipalSchema, {
    userId: uuidv7(),
    sessionId: uuidv7(),
    email: "ada.admin@example.com",
    name: "Ada Admin",
    role: "platform-admin",
    scope: "system",
    permissions: [
      "organizations:read",
      "organizations:write",
      "users:read",
      "users:write",
      "roles:read",
      "roles:write",
      "audit:read",
      "audit:export",
      "devices:read",
      "devices:write",
      "webhooks:read",
      "webhooks:write",
    ],
    mfaEnabled: true,
    userVersion: 1,
  });
  const log = createLogger("bench-identity", "error");
  const readiness = new Readiness();
  readiness.set("ready");
  const verifier = createVerifier({ directory, audience: "muster-internal", service: "identity", log });
  const port = await servePort({
    name: "identity",
    version: "bench",
    host: "127.0.0.1",
    port: 0,
    services: [
      register(SessionService, {
        login: refuse,
        refresh: refuse,
        logout: refuse,
        resolveSession: () => ({ principal }),
        getJwks: () => ({ jwksJson: JSON.stringify({ keys: [jwk] }) }),
      }),
    ],
    verifier,
    log,
    readiness,
    drainDelayMs: 0,
    graceMs: 500,
  });

  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const issuedAt = Math.floor(Date.now() / 1000);
  const claims = {
    iss: "muster",
    aud: "muster-api",
    sub: principal.userId,
    sid: principal.sessionId,
    ver: principal.userVersion,
    iat: issuedAt,
    exp: issuedAt + 900,
  };
  const signed = `${part({ alg: "ES256", typ: "at+jwt", kid: "bench" })}.${part(claims)}`;
  const signature = sign("sha256", Buffer.from(signed), { key: privateKey, dsaEncoding: "ieee-p1363" });
  return {
    url: `http://127.0.0.1:${port.port}`,
    callerKeys: callerKey.privateKey,
    accessToken: `${signed}.${signature.toString("base64url")}`,
    async close() {
      verifier.close();
      await port.drain();
      rmSync(directory, { recursive: true });
    },
  };
}
