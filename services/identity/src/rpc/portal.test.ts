import { createHash, randomBytes } from "node:crypto";
import { fromBinary } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { sql } from "@muster/db";
import { type Caller, secretBox, systemCaller, uuidv7 } from "@muster/kit";
import { PortalLinkRevokedSchema } from "@muster/proto/muster/events/v1/auth_pb";
import { PortalService } from "@muster/proto/muster/identity/v1/portal_pb";
import { register } from "@muster/rpc";
import { callers, testPort } from "@muster/testing";
import { removeOldLinks } from "../store/portal-links.ts";
import { unknownKeys } from "../store/unknown-keys.ts";
import { codeOf, outcomeOf, startTestIdentity, type TestIdentity } from "../testing/identity.ts";
import { portalService } from "./portal.ts";

const system = { caller: systemCaller("identity") };
const held = ["webhooks:read", "webhooks:write"];
let identity: TestIdentity;
let port: Awaited<ReturnType<typeof testPort>>;
let partnerId: string;
beforeAll(async () => {
  identity = await startTestIdentity();
  const { db, userDeps } = identity;
  const now = () => new Date();
  const unknownTokens = unknownKeys({ db, limit: { max: 1_000, windowMs: 60_000 }, now, kind: "token" });
  const box = secretBox(`s1:${randomBytes(32).toString("base64")}`, "idempotency");
  port = await testPort("identity", [
    register(PortalService, portalService({ ...userDeps, box, now, unknownTokens, linksPerOrganization: 3 })),
  ]);
  partnerId = await identity.addPartner();
});
afterAll(async () => {
  await port?.close();
  await identity?.close();
});

const as = (caller: Caller, meta: { idempotencyKey?: string } = {}) => port.client(PortalService, caller, meta);
const gateway = (address = "192.0.2.1") =>
  port.client(PortalService, callers.service("gateway"), { clientAddress: address });
const sha256 = (text: string) => createHash("sha256").update(text).digest();

async function author(permissions = held): Promise<Caller & { orgId: string }> {
  const orgId = await identity.addOrganization(partnerId);
  const user = await identity.user(callers.orgAdmin(partnerId, orgId), permissions);
  return { ...user, orgId };
}

async function newLink(by: Caller, change: object = {}) {
  const wanted = { name: "Acme developers", expiresInMinutes: 30, ...change };
  const { link, code } = await as(by).createPortalLink(wanted);
  if (!link) throw new Error("no link came back");
  return { link, code };
}

const exchange = (linkId: string, code: string, address?: string) =>
  gateway(address).exchangePortalCode({ linkId, code });
const resolved = (token: string) => codeOf(gateway().resolvePortalSession({ digest: sha256(token) }));

async function opened(by: Caller, change: object = {}) {
  const { link, code } = await newLink(by, change);
  return { link, code, token: (await exchange(link.id, code)).token };
}

describe("a portal link", () => {
  it("is exchanged once, for a session that names its organization, capabilities and author", async () => {
    const by = await author();
    const capabilities = ["resend_deliveries"];
    const { link, code } = await newLink(by, { capabilities, embedOrigins: ["https://app.example.com"] });
    expect(code).toMatch(/^ptc_[A-Za-z0-9_-]{43}$/);
    const { token } = await exchange(link.id, code);
    const { session } = await gateway().resolvePortalSession({ digest: sha256(token) });
    expect(session).toMatchObject({
      linkId: link.id,
      orgId: by.orgId,
      partnerId,
      name: "Acme developers",
      capabilities,
      author: { type: "user", id: by.actor.id, name: "Test User" },
      partnerStatus: "active",
      orgStatus: "active",
    });
    expect(await codeOf(exchange(link.id, code))).toBe("invalid_exchange_code");
  });

  it("has one winner of many exchanges at once", async () => {
    const { link, code } = await newLink(await author());
    const codes = await Promise.all(Array.from({ length: 8 }, () => codeOf(exchange(link.id, code))));
    expect(codes.filter((each) => each === "answered")).toHaveLength(1);
    expect(new Set(codes)).toEqual(new Set(["answered", "invalid_exchange_code"]));
  });

  it("stores digests of its code and its token, and neither of them in audit rows", async () => {
    const { link, code, token } = await opened(await author());
    const [row] = await identity.db.read<{ text: string }>(
      system,
      sql`SELECT row_to_json(t)::text AS text FROM portal_links t WHERE id = ${link.id}`,
    );
    const audit = JSON.stringify(await identity.auditOf(link.id), (_key, value) =>
      typeof value === "bigint" ? String(value) : value,
    );
    for (const secret of [code, token]) {
      expect(row?.text).not.toContain(secret.slice(4));
      expect(audit).not.toContain(secret.slice(4));
    }
  });

  it("leaves audit rows: created and revoked by its author, opened as a portal session via the link", async () => {
    const by = await author();
    const { link } = await opened(by);
    await as(by).revokePortalLink({ id: link.id });
    await as(by).revokePortalLink({ id: link.id });
    const rows = await identity.auditOf(link.id);
    expect(rows.map(({ action, actorType, actorName }) => [action, actorType, actorName])).toEqual([
      ["portal_link.create", "user", "Test User"],
      ["portal_link.open", "system", "portal: Acme developers"],
      ["portal_link.revoke", "user", "Test User"],
    ]);
    expect(JSON.parse(rows[1]?.detailsJson ?? "")).toEqual({
      via: { type: "portal_link", id: link.id, author: { type: "user", id: by.actor.id, name: "Test User" } },
    });
  });

  it("answers an unknown link, a wrong code, a used, revoked and expired one alike", async () => {
    const by = await author();
    const used = await opened(by);
    const revoked = await newLink(by);
    await as(by).revokePortalLink({ id: revoked.link.id });
    const expired = await newLink(by);
    await identity.db.tx(system, (tx) =>
      tx.execute(sql`UPDATE portal_links SET expires_at = now() - interval '1 s' WHERE id = ${expired.link.id}`),
    );
    const open = await newLink(by);
    const outcomes = [
      await outcomeOf(exchange(uuidv7(), open.code)),
      await outcomeOf(exchange("no id", open.code)),
      await outcomeOf(exchange(open.link.id, used.code)),
      await outcomeOf(exchange(used.link.id, used.code)),
      await outcomeOf(exchange(revoked.link.id, revoked.code)),
      await outcomeOf(exchange(expired.link.id, expired.code)),
    ];
    expect(new Set(outcomes.map((each) => JSON.stringify(each)))).toEqual(
      new Set([JSON.stringify({ code: "invalid_exchange_code" })]),
    );
  });

  it("ends at once when it is revoked, and gateways hear of it", async () => {
    const by = await author();
    const { link, token } = await opened(by);
    expect(await resolved(token)).toBe("answered");
    await as(by).revokePortalLink({ id: link.id });
    expect(await resolved(token)).toBe("session_revoked");
    const [message] = await identity.db.read<{ body: Buffer }>(
      system,
      sql`SELECT body FROM outbox WHERE subject = 'auth.portal' ORDER BY id DESC LIMIT 1`,
    );
    expect(fromBinary(PortalLinkRevokedSchema, message?.body ?? Buffer.alloc(0)).linkId).toBe(link.id);
  });

  it.each([
    ["is disabled", (id: string) => sql`UPDATE users SET status = 'disabled' WHERE id = ${id}`],
    [
      "may write webhooks no more",
      (id: string) =>
        sql`UPDATE roles SET permissions = '{webhooks:read}' WHERE id = (SELECT role_id FROM users WHERE id = ${id})`,
    ],
    ["is limited to sites", (id: string) => sql`UPDATE users SET site_restricted = true WHERE id = ${id}`],
    ["is deleted", (id: string) => sql`DELETE FROM users WHERE id = ${id}`],
  ])("ends when its author %s", async (_what, change) => {
    const by = await author();
    const unopened = await newLink(by);
    const { token } = await opened(by);
    await identity.db.tx(system, (tx) => tx.execute(change(by.actor.id)));
    expect(await resolved(token)).toBe("session_revoked");
    expect(await codeOf(exchange(unopened.link.id, unopened.code))).toBe("invalid_exchange_code");
  });

  it("ends with its partner's or organization's deletion", async () => {
    const by = await author();
    const { token } = await opened(by);
    await identity.setStatus("organization", by.orgId, "active", true);
    expect(await resolved(token)).toBe("session_revoked");
  });

  it("is created by writers of the whole organization alone, who name one in their scope", async () => {
    const wanted = { name: "A", expiresInMinutes: 1 };
    const viewer = await author(["webhooks:read"]);
    expect(await codeOf(as(viewer).createPortalLink(wanted))).toBe("permission_denied");
    const bySite = { ...(await author()), siteIds: [uuidv7()] };
    expect(await codeOf(as(bySite).createPortalLink(wanted))).toBe("site_restricted");
    const by = await author();
    const other = await author();
    expect(await codeOf(as(by).createPortalLink({ ...wanted, orgId: other.orgId }))).toBe("organization_not_found");
    const partner = await identity.user(callers.partnerAdmin(partnerId), held);
    expect(await codeOf(as(partner).createPortalLink(wanted))).toBe("organization_context_required");
    const { link } = await opened(other);
    expect(await codeOf(as(by).revokePortalLink({ id: link.id }))).toBe("portal_link_not_found");
    expect((await as(by).listPortalLinks({})).links).toEqual([]);
    expect((await as(other).listPortalLinks({})).links.map(({ id }) => id)).toEqual([link.id]);
  });

  it("reveals secrets only when a user with a second factor granted it", async () => {
    const wanted = { name: "A", expiresInMinutes: 1, capabilities: ["reveal_secrets"] };
    const by = await author();
    expect(await codeOf(as({ ...by, mfaAt: null }).createPortalLink(wanted))).toBe("mfa_required");
    const key: Caller = { ...by, actor: { ...by.actor, type: "api_key", id: uuidv7() } };
    expect(await codeOf(as(key).createPortalLink(wanted))).toBe("delegation_denied");
    expect((await newLink(by, wanted)).link.capabilities).toEqual(["reveal_secrets"]);
  });

  it("is one of a limited number of open ones; a repeated request gets the same code", async () => {
    const by = await author();
    const wanted = { name: "A", expiresInMinutes: 1 };
    const first = await as(by, { idempotencyKey: "k1" }).createPortalLink(wanted);
    expect((await as(by, { idempotencyKey: "k1" }).createPortalLink(wanted)).code).toBe(first.code);
    const { link } = await newLink(by);
    await newLink(by);
    expect(await outcomeOf(as(by).createPortalLink(wanted))).toMatchObject({ code: "limit_reached", limit: 3 });
    await as(by).revokePortalLink({ id: link.id });
    expect(await codeOf(as(by).createPortalLink(wanted))).toBe("answered");
  });

  it("shows its origins and address to whoever has its id, and nothing for an unknown one", async () => {
    const by = await author();
    const change = { embedOrigins: ["https://app.example.com"], refreshUrl: "https://app.example.com/webhooks" };
    const { link } = await newLink(by, change);
    expect(await gateway().getPortalPage({ linkId: link.id })).toMatchObject(change);
    for (const linkId of [uuidv7(), "no id"]) {
      expect(await gateway().getPortalPage({ linkId })).toMatchObject({ embedOrigins: [], refreshUrl: "" });
    }
  });

  it("opens calls of gateways to gateways alone", async () => {
    const by = await author();
    // Awaited together: one that is refused early has somebody who waits for it.
    const calls = [
      as(by).exchangePortalCode({ linkId: uuidv7(), code: "ptc_" }),
      as(by).resolvePortalSession({ digest: Buffer.alloc(32) }),
      as(by).getPortalPage({ linkId: uuidv7() }),
    ];
    expect(await Promise.all(calls.map(codeOf))).toEqual(calls.map(() => "permission_denied"));
  });

  it("is removed a day after its end", async () => {
    const by = await author();
    const { link } = await newLink(by);
    const end = (ago: string) =>
      identity.db.tx(system, (tx) =>
        tx.execute(sql`UPDATE portal_links SET expires_at = now() - ${ago}::interval WHERE id = ${link.id}`),
      );
    await end("23 h");
    await removeOldLinks(identity.db, 100);
    expect((await as(by).listPortalLinks({})).links).toHaveLength(1);
    await end("25 h");
    await removeOldLinks(identity.db, 100);
    expect((await as(by).listPortalLinks({})).links).toEqual([]);
  });
});
