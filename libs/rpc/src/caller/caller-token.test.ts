import { createHmac } from "node:crypto";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { type AppError, type Caller, systemCaller, uuidv7 } from "@muster/kit";
import { decodeJwt, SignJWT } from "jose";
import { testKeys, testUser } from "../testing/ports.ts";
import { callerAudience, maxListedIds, toClaims } from "./caller-claims.ts";
import { parsePrivateKeys } from "./caller-keys.ts";
import { createSigner } from "./signer.ts";
import { createVerifier, type Verifier } from "./verifier.ts";

const rpc = "muster.tenancy.v1.PartnerService/GetPartner";

async function withVerifier(run: (keys: ReturnType<typeof testKeys>, verifier: () => Verifier) => Promise<void>) {
  const keys = testKeys();
  const open: Verifier[] = [];
  try {
    await run(keys, () => {
      const verifier = createVerifier({ directory: keys.directory, service: "tenancy" });
      open.push(verifier);
      return verifier;
    });
  } finally {
    for (const verifier of open) verifier.close();
    rmSync(keys.directory, { recursive: true });
  }
}

const outcome = async (verify: () => Caller | Promise<Caller>): Promise<string> => {
  try {
    await verify();
    return "admitted";
  } catch (error) {
    return (error as AppError).code;
  }
};

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");

describe("caller tokens", () => {
  it("carry the whole caller", () =>
    withVerifier(async (keys, verifier) => {
      const { signer } = keys.add("gateway");
      const caller = testUser({
        scope: "partner",
        orgId: null,
        orgAccess: { mode: "list", orgIds: [uuidv7(), uuidv7()] },
        siteIds: [uuidv7()],
        mfaAt: new Date(1_700_000_000_123),
      });
      expect(await verifier().verify(await signer.tokenFor(caller, "tenancy"), rpc)).toEqual(caller);
    }));

  it("distinguish an empty list of organizations and sites from none", () =>
    withVerifier(async (keys, verifier) => {
      const { signer } = keys.add("gateway");
      const caller = testUser({ scope: "partner", orgAccess: { mode: "list", orgIds: [] }, siteIds: [] });
      expect(await verifier().verify(await signer.tokenFor(caller, "tenancy"), rpc)).toEqual(caller);
    }));

  it("hold 500 organizations and 500 sites within the header limit, and refuse more with a clear error", () =>
    withVerifier(async (keys, verifier) => {
      const { signer } = keys.add("gateway");
      const ids = Array.from({ length: maxListedIds }, () => uuidv7());
      const caller = testUser({ orgAccess: { mode: "list", orgIds: ids }, siteIds: ids });
      const token = await signer.tokenFor(caller, "tenancy");
      expect(token.length).toBeLessThan(32 * 1024);
      expect(await verifier().verify(token, rpc)).toEqual(caller);
      const tooMany = testUser({ orgAccess: { mode: "list", orgIds: [...ids, uuidv7()] } });
      await expect(signer.tokenFor(tooMany, "tenancy")).rejects.toMatchObject({
        code: "limit_reached",
        facts: { limit: 500 },
      });
    }));

  it("are accepted by the service that they were issued for, and by no other", () =>
    withVerifier(async (keys, verifier) => {
      const { signer } = keys.add("gateway");
      const [caller, check] = [testUser(), verifier()];
      expect(await outcome(async () => check.verify(await signer.tokenFor(caller, "tenancy"), rpc))).toBe("admitted");
      for (const service of ["identity", "audit", ""]) {
        const token = await signer.tokenFor(caller, service);
        expect(await outcome(() => check.verify(token, rpc))).toBe("unauthenticated");
      }
    }));

  it("are reused per principal until near expiry, and dropped by forget", async () => {
    const keys = testKeys();
    let nowMs = 1_800_000_000_000;
    const { privateKeys } = keys.add("gateway");
    const signer = createSigner({ issuer: "gateway", privateKeys, now: () => nowMs });
    const caller = testUser();
    const token = await signer.tokenFor(caller, "tenancy");
    nowMs += 40_000;
    expect(await signer.tokenFor({ ...caller }, "tenancy")).toBe(token);
    expect(await signer.tokenFor({ ...caller, permissions: [] }, "tenancy")).not.toBe(token);
    nowMs += 10_000;
    const second = await signer.tokenFor(caller, "tenancy");
    expect(second).not.toBe(token);
    nowMs += 1_000;
    signer.forget(({ sessionId }) => sessionId === caller.sessionId);
    expect(await signer.tokenFor(caller, "tenancy")).not.toBe(second);
    rmSync(keys.directory, { recursive: true });
  });

  it("are signed by the first private key; both of two live public keys verify", () =>
    withVerifier(async (keys, verifier) => {
      const old = keys.add("gateway");
      const next = keys.add("gateway");
      const rotated = createSigner({ issuer: "gateway", privateKeys: `${next.privateKeys},${old.privateKeys}` });
      const check = verifier();
      expect(await outcome(async () => check.verify(await old.signer.tokenFor(testUser(), "tenancy"), rpc))).toBe(
        "admitted",
      );
      const token = await rotated.tokenFor(testUser(), "tenancy");
      expect(JSON.parse(Buffer.from(token.split(".")[0] ?? "", "base64url").toString())).toMatchObject({
        kid: next.kid,
      });
      expect(await outcome(() => check.verify(token, rpc))).toBe("admitted");
    }));

  it("stop being admitted, also when cached, once their key is removed", () =>
    withVerifier(async (keys, verifier) => {
      const { signer, kid } = keys.add("gateway");
      const check = verifier();
      const token = await signer.tokenFor(testUser(), "tenancy");
      expect(await outcome(() => check.verify(token, rpc))).toBe("admitted");
      rmSync(join(keys.directory, "gateway", `${kid}.pem`));
      check.reload();
      expect(await outcome(() => check.verify(token, rpc))).toBe("unauthenticated");
    }));

  it("are admitted without waiting for the next reading when their key was added later", async () => {
    const keys = testKeys();
    keys.add("gateway");
    let nowMs = Date.now();
    const verifier = createVerifier({ directory: keys.directory, service: "tenancy", now: () => nowMs });
    const { signer } = keys.add("gateway");
    const token = await signer.tokenFor(testUser(), "tenancy");
    expect(await outcome(() => verifier.verify(token, rpc))).toBe("unauthenticated");
    nowMs += 1_000;
    expect(await outcome(() => verifier.verify(token, rpc))).toBe("admitted");
    verifier.close();
    rmSync(keys.directory, { recursive: true });
  });

  it("are refused once expired, also when cached", async () => {
    const keys = testKeys();
    const { signer } = keys.add("gateway");
    let nowMs = Date.now();
    const verifier = createVerifier({ directory: keys.directory, service: "tenancy", now: () => nowMs });
    const token = await signer.tokenFor(testUser(), "tenancy");
    expect(await outcome(() => verifier.verify(token, rpc))).toBe("admitted");
    const { exp = 0 } = decodeJwt(token);
    // Clocks of two machines differ by 5 s at most.
    nowMs = exp * 1_000 + 4_900;
    expect(await outcome(() => verifier.verify(token, rpc))).toBe("admitted");
    nowMs = exp * 1_000 + 5_100;
    expect(await outcome(() => verifier.verify(token, rpc))).toBe("unauthenticated");
    verifier.close();
    rmSync(keys.directory, { recursive: true });
  });
});

type Forgery = {
  header?: object;
  claims?: object;
  issuer?: string;
  signAs?: string;
  audience?: string;
  seconds?: number;
};

describe("forged caller tokens", () => {
  const forged: [string, Forgery][] = [
    ["signed by an unpublished key", { signAs: "foreign" }],
    ["signed by another service's key under its kid", { signAs: "tenancy" }],
    ["of an unknown kid", { header: { kid: "0000000000000000" } }],
    ["without a kid", { header: { kid: undefined } }],
    ["whose kid climbs out of the directory", { header: { kid: "../gateway/x" } }],
    ["of an unknown issuer", { issuer: "nobody" }],
    ["for another audience", { audience: "muster" }],
    ["for all services", { audience: "muster-internal" }],
    ["for another service", { audience: callerAudience("audit") }],
    ["that expired", { seconds: -30 }],
    ["that live longer than a minute", { seconds: 3600 }],
    ["with an actor type that does not exist", { claims: { actor: { type: "god", id: "x" } } }],
    ["with a scope that does not exist", { claims: { scope: "everything" } }],
  ];

  it.each(forged)("%s are refused as unauthenticated", (_name, forgery) =>
    withVerifier(async (keys, verifier) => {
      const gateway = keys.add("gateway");
      const elsewhere = testKeys();
      const others = { gateway, tenancy: keys.add("tenancy"), foreign: elsewhere.add("gateway") };
      rmSync(elsewhere.directory, { recursive: true });
      const [signing] = parsePrivateKeys(others[(forgery.signAs ?? "gateway") as keyof typeof others].privateKeys);
      const now = Math.floor(Date.now() / 1000);
      const token = await new SignJWT({ ...toClaims(testUser()), ...forgery.claims })
        .setProtectedHeader({ alg: "EdDSA", kid: gateway.kid, ...forgery.header })
        .setIssuer(forgery.issuer ?? "gateway")
        .setAudience(forgery.audience ?? callerAudience("tenancy"))
        .setIssuedAt(forgery.seconds && forgery.seconds < 0 ? now - 60 : now)
        .setExpirationTime(now + (forgery.seconds ?? 60))
        .sign(signing?.key as never);
      expect(await outcome(() => verifier().verify(token, rpc))).toBe("unauthenticated");
    }),
  );

  it("with alg none or HS256 over the public key are refused as unauthenticated", () =>
    withVerifier(async (keys, verifier) => {
      const { signer, kid } = keys.add("gateway");
      const [, payload = ""] = (await signer.tokenFor(testUser(), "tenancy")).split(".");
      const none = `${encode({ alg: "none", kid })}.${payload}.`;
      const body = `${encode({ alg: "HS256", kid })}.${payload}`;
      const pem = (await import("node:fs")).readFileSync(join(keys.directory, "gateway", `${kid}.pem`));
      const hs256 = `${body}.${createHmac("sha256", pem).update(body).digest("base64url")}`;
      for (const token of [none, hs256])
        expect(await outcome(() => verifier().verify(token, rpc))).toBe("unauthenticated");
    }));

  it.each(["", "x", "a.b.c", `${encode({ alg: "EdDSA" })}.${encode(null)}.x`, "é".repeat(100)])(
    "that are no tokens (%j) are refused as unauthenticated",
    (token) =>
      withVerifier(async (keys, verifier) => {
        keys.add("gateway");
        expect(await outcome(() => verifier().verify(token, rpc))).toBe("unauthenticated");
      }),
  );
});

describe("who may say who is calling", () => {
  it.each(["user", "api_key", "agent"] as const)("a %s issued by a service is refused as unauthenticated", (type) =>
    withVerifier(async (keys, verifier) => {
      const { signer } = keys.add("tenancy");
      const caller = testUser();
      const token = await signer.tokenFor({ ...caller, actor: { ...caller.actor, type } }, "tenancy");
      expect(await outcome(() => verifier().verify(token, rpc))).toBe("unauthenticated");
    }),
  );

  it("a service acting as another is refused as unauthenticated", () =>
    withVerifier(async (keys, verifier) => {
      const { signer } = keys.add("tenancy");
      const token = await signer.tokenFor(systemCaller("gateway"), "tenancy");
      expect(await outcome(() => verifier().verify(token, rpc))).toBe("unauthenticated");
    }));

  const session = "muster.identity.v1.SessionService";
  it.each([
    ["gateway", `${session}/Login`, "admitted"],
    ["gateway", `${session}/Refresh`, "admitted"],
    ["gateway", `${session}/ResolveSession`, "admitted"],
    ["gateway", `${session}/GetJwks`, "admitted"],
    ["gateway", `${session}/Logout`, "permission_denied"],
    ["gateway", rpc, "permission_denied"],
    ["gateway", "muster.common.v1.ProbeService/EchoStream", "admitted"],
    ["tenancy", "muster.common.v1.ProbeService/EchoStream", "admitted"],
    ["tenancy", `${session}/Login`, "permission_denied"],
    ["audit", rpc, "permission_denied"],
  ])("%s as itself calling %s is %s", (issuer, called, expected) =>
    withVerifier(async (keys, verifier) => {
      const { signer } = keys.add(issuer);
      const check = verifier();
      const token = await signer.tokenFor(systemCaller(issuer), "tenancy");
      expect(await outcome(() => check.verify(token, called))).toBe(expected);
      expect(await outcome(() => check.verify(token, called))).toBe(expected);
    }),
  );
});
