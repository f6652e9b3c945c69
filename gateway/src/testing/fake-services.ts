import { generateKeyPairSync, hash, type KeyObject, randomBytes } from "node:crypto";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { durationFromMs, timestampFromMs, timestampNow } from "@bufbuild/protobuf/wkt";
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import { AppError, createLogger, newApiKeyText, Readiness, sessionEnded, uuidv7 } from "@muster/kit";
import { AuditLogService } from "@muster/proto/muster/audit/v1/log_pb";
import {
  type AgentRecord,
  AgentRecordSchema,
  EdgeService,
  type KeyRecord,
  KeyRecordSchema,
} from "@muster/proto/muster/identity/v1/edge_pb";
import { RefusalService } from "@muster/proto/muster/identity/v1/refusal_pb";
import { ScimService } from "@muster/proto/muster/identity/v1/scim_pb";
import { type Principal, PrincipalSchema, SessionService } from "@muster/proto/muster/identity/v1/session_pb";
import { PartnerService } from "@muster/proto/muster/tenancy/v1/partner_pb";
import { createVerifier, generateCallerKey, register, servePort, type Verifier } from "@muster/rpc";
import { exportJWK, SignJWT } from "jose";

type Fake =
  | typeof SessionService
  | typeof EdgeService
  | typeof RefusalService
  | typeof ScimService
  | typeof PartnerService
  | typeof AuditLogService;
type Impl<S extends Fake> = Partial<ServiceImpl<S>>;

export type FakeServices = {
  url: string;
  /** Signs caller tokens that these services accept. */
  callerKeys: string;
  /** The handlers of each service; a test replaces them by its own functions. */
  identity: Impl<typeof SessionService>;
  /** Grants leases and requests without end, and knows the keys below. */
  edge: Impl<typeof EdgeService>;
  refusals: Impl<typeof RefusalService>;
  scim: Impl<typeof ScimService>;
  tenancy: Impl<typeof PartnerService>;
  audit: Impl<typeof AuditLogService>;
  /** People by session id, as ResolveSession knows them. */
  users: Map<string, Principal>;
  /** API keys by their secret, as ResolveKeys knows them. */
  keys: Map<string, KeyRecord>;
  /** Agents by their token, as ResolveAgent knows them. */
  agents: Map<string, AgentRecord>;
  /** A new agent and its token. */
  newAgent(change?: MessageInitShape<typeof AgentRecordSchema>): { token: string; record: AgentRecord };
  /** A new API key and its secret. */
  newKey(change?: MessageInitShape<typeof KeyRecordSchema>): { secret: string; record: KeyRecord };
  /** Number of session lookups at identity. */
  resolved: () => number;
  signIn(change?: MessageInitShape<typeof PrincipalSchema>): Promise<{ token: string; principal: Principal }>;
  mint(principal: Principal, change?: MintChange): Promise<string>;
  close(): Promise<void>;
};

export type MintChange = {
  claims?: Record<string, unknown>;
  header?: { typ?: string; kid?: string; alg?: string };
  issuer?: string;
  audience?: string;
  expiresInSeconds?: number;
  key?: KeyObject;
};

const absent = () => {
  throw new AppError("not_found", "The test serves no answer here");
};

/** Identity, tenancy and audit behind one real RPC port, with answers that the test chooses. */
export async function startFakeServices(): Promise<FakeServices> {
  const directory = await mkdtemp(join(tmpdir(), "muster-gateway-"));
  const callerKey = generateCallerKey();
  await mkdir(join(directory, "gateway"));
  await writeFile(join(directory, "gateway", `${callerKey.kid}.pem`), callerKey.publicPem);
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const jwk = { ...(await exportJWK(publicKey)), kid: "test", alg: "ES256", use: "sig" };
  const users = new Map<string, Principal>();
  let resolved = 0;

  const identity: Impl<typeof SessionService> = {
    getJwks: () => ({ jwksJson: JSON.stringify({ keys: [jwk] }) }),
    resolveSession({ sessionId }) {
      resolved += 1;
      const principal = users.get(sessionId);
      if (!principal) throw sessionEnded();
      return { principal };
    },
    logout: () => ({}),
  };
  const keys = new Map<string, KeyRecord>();
  const agents = new Map<string, AgentRecord>();
  const edge: Impl<typeof EdgeService> = {
    heartbeat: () => ({ lease: durationFromMs(2_000) }),
    acknowledge: () => ({}),
    leave: () => ({}),
    getFreshState: () => ({}),
    settle: () => ({}),
    reserve: ({ wants }) => ({
      lease: durationFromMs(1_000),
      now: timestampNow(),
      grants: wants.map(({ kind, id, limit, waiting, ahead }) => ({
        kind,
        id,
        granted: waiting + ahead,
        remaining: limit - waiting - ahead,
        resetAt: timestampFromMs(Date.now() + 3_600_000),
        slot: 1n,
      })),
    }),
    resolveKeys: ({ wanted }) => ({
      outcomes: wanted.map(({ digest }) => {
        const hex = Buffer.from(digest).toString("hex");
        const found = [...keys].find(([secret]) => hash("sha256", secret, "hex") === hex);
        if (!found) return { outcome: { case: "refused", value: { code: "api_key_invalid", message: "Invalid" } } };
        return { outcome: { case: "found", value: { key: found[1] } } };
      }),
    }),
    resolveAgent({ digest }) {
      const wanted = Buffer.from(digest).toString("hex");
      const found = [...agents].find(([token]) => hash("sha256", token, "hex") === wanted);
      if (!found) throw new AppError("agent_token_invalid", "Agent token is invalid");
      return { agent: found[1] };
    },
  };
  const refusals: Impl<typeof RefusalService> = { noteRefusal: () => ({}) };
  const scim: Impl<typeof ScimService> = {};
  const tenancy: Impl<typeof PartnerService> = {};
  const audit: Impl<typeof AuditLogService> = {};
  const log = createLogger("fake-services", "error");
  const readiness = new Readiness();
  readiness.set("ready");
  // One port for three services; each accepts only tokens addressed to it.
  const verifierOf = (service: string) => createVerifier({ directory, service, log });
  const verifiers = { identity: verifierOf("identity"), tenancy: verifierOf("tenancy"), audit: verifierOf("audit") };
  const verifier: Verifier = {
    verify: (token, rpc) => verifiers[rpc.split(".")[1] as keyof typeof verifiers].verify(token, rpc),
    reload: () => Object.values(verifiers).forEach((each) => void each.reload()),
    close: () => Object.values(verifiers).forEach((each) => void each.close()),
  };
  const port = await servePort({
    name: "fake",
    version: "9.9.9",
    host: "127.0.0.1",
    port: 0,
    services: [
      register(SessionService, delegate(SessionService, identity)),
      register(EdgeService, delegate(EdgeService, edge)),
      register(RefusalService, delegate(RefusalService, refusals)),
      register(ScimService, delegate(ScimService, scim)),
      register(PartnerService, delegate(PartnerService, tenancy)),
      register(AuditLogService, delegate(AuditLogService, audit)),
    ],
    verifier,
    log,
    readiness,
    drainDelayMs: 0,
    graceMs: 200,
  });

  const mint = (principal: Principal, change: MintChange = {}): Promise<string> => {
    const now = Math.floor(Date.now() / 1000);
    return new SignJWT({ sid: principal.sessionId, ver: principal.userVersion, ...change.claims })
      .setProtectedHeader({ alg: "ES256", typ: "at+jwt", kid: "test", ...change.header })
      .setIssuer(change.issuer ?? "muster")
      .setAudience(change.audience ?? "muster-api")
      .setSubject(principal.userId)
      .setIssuedAt(now)
      .setExpirationTime(now + (change.expiresInSeconds ?? 900))
      .sign(change.key ?? privateKey);
  };

  return {
    url: `http://127.0.0.1:${port.port}`,
    callerKeys: callerKey.privateKey,
    identity,
    edge,
    refusals,
    scim,
    tenancy,
    audit,
    users,
    keys,
    agents,
    newAgent(change = {}) {
      const token = `agt_${randomBytes(32).toString("base64url")}`;
      const ids = { deviceId: uuidv7(), orgId: uuidv7(), partnerId: uuidv7(), version: 1n };
      const record = create(AgentRecordSchema, { ...ids, partnerStatus: "active", orgStatus: "active", ...change });
      agents.set(token, record);
      return { token, record };
    },
    newKey(change = {}) {
      const secret = newApiKeyText();
      const record = create(KeyRecordSchema, {
        id: uuidv7(),
        orgId: uuidv7(),
        partnerId: uuidv7(),
        name: "Test key",
        keyPrefix: secret.slice(0, 12),
        rateLimit: 1_000,
        version: 1n,
        generation: 1,
        partnerStatus: "active",
        orgStatus: "active",
        ...change,
      });
      keys.set(secret, record);
      return { secret, record };
    },
    resolved: () => resolved,
    mint,
    async signIn(change = {}) {
      const principal = create(PrincipalSchema, {
        userId: uuidv7(),
        sessionId: uuidv7(),
        email: "ada@example.com",
        name: "Ada Admin",
        role: "platform-admin",
        scope: "system",
        permissions: ["organizations:read", "organizations:write", "audit:read"],
        userVersion: 1,
        ...change,
      });
      users.set(principal.sessionId, principal);
      return { token: await mint(principal), principal };
    },
    async close() {
      await port.drain();
      verifier.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** Looks the answer up at each call, so that a test may change it while the port is open. */
function delegate<S extends Fake>(service: S, answers: Impl<S>): ServiceImpl<S> {
  const entries = service.methods.map(({ localName }) => [
    localName,
    (request: unknown, context: HandlerContext) => {
      const answer = (answers as Record<string, ((request: unknown, context: HandlerContext) => unknown) | undefined>)[
        localName
      ];
      return (answer ?? absent)(request, context);
    },
  ]);
  return Object.fromEntries(entries) as ServiceImpl<S>;
}
