import { generateKeyPairSync, hash, sign } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { durationFromMs, timestampFromMs, timestampNow } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import { AppError, createLogger, newApiKeyText, Readiness, uuidv7 } from "@muster/kit";
import { EdgeService } from "@muster/proto/muster/identity/v1/edge_pb";
import { PrincipalSchema, SessionService } from "@muster/proto/muster/identity/v1/session_pb";
import { createVerifier, generateCallerKey, register, servePort } from "@muster/rpc";

export type BenchIdentity = {
  url: string;
  /** Caller key of the gateway. */
  callerKeys: string;
  accessToken: string;
  /** Keys that this identity knows; they never expire. */
  newKey(): string;
  close(): Promise<void>;
};

const refuse = () => {
  throw new AppError("unavailable", "The bench serves no such call");
};

/** Leases, grants without end, and the keys with these digests (hex). */
function benchEdge(keys: ReadonlySet<string>): ServiceImpl<typeof EdgeService> {
  return {
    heartbeat: () => ({ lease: durationFromMs(2_000) }),
    acknowledge: () => ({}),
    leave: () => ({}),
    getFreshState: () => ({}),
    settle: () => ({}),
    reserve: ({ wants }) => ({
      lease: durationFromMs(1_000),
      now: timestampNow(),
      grants: wants.map(({ waiting, ahead }) => ({
        granted: waiting + ahead,
        remaining: 50_000,
        resetAt: timestampFromMs(Date.now() + 3_600_000),
        slot: 1n,
      })),
    }),
    resolveAgent() {
      throw new AppError("agent_token_invalid", "Agent token is invalid");
    },
    resolveKeys: ({ wanted }) => ({
      outcomes: wanted.map(({ digest }) => {
        if (!keys.has(Buffer.from(digest).toString("hex"))) {
          return { outcome: { case: "refused", value: { code: "api_key_invalid", message: "API key is invalid" } } };
        }
        return { outcome: { case: "found", value: { key: benchKey() } } };
      }),
    }),
  };
}

const benchKey = () => ({
  id: uuidv7(),
  orgId: uuidv7(),
  partnerId: uuidv7(),
  name: "Bench key",
  keyPrefix: "svc_bench000",
  scopes: ["devices:read", "devices:write"],
  rateLimit: 100_000,
  version: 1n,
  generation: 1,
  partnerStatus: "active",
  orgStatus: "active",
});

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
  const keys = new Set<string>();
  const log = createLogger("bench-identity", "error");
  const readiness = new Readiness();
  readiness.set("ready");
  const verifier = createVerifier({ directory, service: "identity", log });
  const port = await servePort({
    name: "identity",
    version: "bench",
    host: "127.0.0.1",
    port: 0,
    services: [
      register(EdgeService, benchEdge(keys)),
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
    newKey() {
      const key = newApiKeyText();
      keys.add(hash("sha256", key, "hex"));
      return key;
    },
    accessToken: `${signed}.${signature.toString("base64url")}`,
    async close() {
      verifier.close();
      await port.drain();
      rmSync(directory, { recursive: true });
    },
  };
}
