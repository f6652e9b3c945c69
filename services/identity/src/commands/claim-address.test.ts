import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Database, sql, type Tx } from "@muster/db";
import { type Caller, secretBox, systemCaller, uuidv7 } from "@muster/kit";
import { callers, until } from "@muster/testing";
import type { Tenant } from "../rules/address-owner.ts";
import type { ProviderRow } from "../rules/sso/provider.ts";
import { LoginFlowEnded } from "../rules/sso/reasons.ts";
import { forgetDomainProofs, lockDomainOwner } from "../store/addresses.ts";
import { mailLocation } from "../store/sealed-columns.ts";
import type { LoginRow } from "../store/sso/logins.ts";
import { readProvider } from "../store/sso/providers.ts";
import { codeOf, startTestIdentity, type TestIdentity } from "../testing/identity.ts";
import { claimDomain } from "./claim-address.ts";
import { letIn } from "./sso/let-in.ts";

let identity: TestIdentity;
beforeAll(async () => {
  identity = await startTestIdentity();
});
afterAll(() => identity?.close());

const password = "a long enough password";
const meta = { requestId: "r", clientAddress: null, userAgent: null, traceparent: null };
const context = { caller: systemCaller("identity"), meta, deadlineMs: null, signal: new AbortController().signal };
const sealing = secretBox(`k:${Buffer.alloc(32, 7).toString("base64")}`, "sso");
const system = <T>(statement: ReturnType<typeof sql>): Promise<T[]> =>
  identity.db.tx(identity.system, (tx) => tx.query<T>(statement));

type Org = { partnerId: string; orgId: string; admin: Caller };

async function newOrg(partnerId?: string): Promise<Org> {
  const partner = partnerId ?? (await identity.addPartner());
  const orgId = await identity.addOrganization(partner);
  return { partnerId: partner, orgId, admin: await identity.user(callers.orgAdmin(partner, orgId)) };
}

const invite = (by: Caller, email: string, shows: boolean, change: object = {}) => {
  identity.userDeps.showsInvites = shows;
  // Mails are found by their time.
  identity.clock.now = new Date(identity.clock.now.getTime() + 1);
  const wanted = { email, name: "Ada", roleId: identity.roleId("org-viewer"), ...change };
  return identity.usersAs({ ...by, mfaAt: identity.clock.now }).inviteUser(wanted);
};
const accept = (token: string) => identity.usersAs(callers.service("gateway")).acceptInvite({ token, password });

/** The token of the newest mail to an address. */
async function mailedToken(email: string): Promise<string> {
  const rows = await system<{ id: string; sealed: Buffer }>(
    sql`SELECT id, sealed FROM mail ORDER BY created_at DESC, id DESC`,
  );
  for (const { id, sealed } of rows) {
    const mail = JSON.parse(identity.posting.box.open(sealed, mailLocation(id)).toString()) as {
      to?: { address: string };
      text: string;
    };
    if (mail.to?.address === email) return /#token=(\S+)/.exec(mail.text)?.[1] ?? "";
  }
  throw new Error(`no mail to ${email}`);
}

async function verify(domain: string, { partnerId, orgId }: Tenant): Promise<void> {
  const id = uuidv7();
  await system(sql`
    INSERT INTO sso_domains (id, partner_id, org_id, domain, token, verified_at, created_by, created_at)
    VALUES (${id}, ${partnerId}, ${orgId}, ${domain}, 't', now(), ${id}, now())`);
}

async function newProvider({ partnerId, orgId, admin }: Org): Promise<ProviderRow> {
  const id = uuidv7();
  await system(sql`
    INSERT INTO sso_providers (id, partner_id, org_id, name, type, status, scopes, default_role_id, default_role_by,
                               created_by, created_at, updated_at)
    VALUES (${id}, ${partnerId}, ${orgId}, 'P', 'oidc', 'active', '', ${identity.roleId("org-viewer")},
            ${admin.actor.id}, ${id}, now(), now())`);
  const row = await readProvider(identity.db, id);
  if (!row) throw new Error("no provider");
  return row;
}

/** "in", or why a sign-in through the provider ends. */
async function signIn(
  provider: ProviderRow,
  email: string,
  emailVerified: boolean | null,
  { externalId = email, db = identity.db }: { externalId?: string; db?: Database } = {},
): Promise<string> {
  const claimed = { externalId, email, emailVerified, name: "Ada", groups: [] };
  const tokens = { access: null, refresh: null, expiresInSeconds: null };
  const arrival = { claimed, mfa: false, profile: {}, tokens };
  const deps = { db, now: () => identity.clock.now, sealing };
  try {
    await letIn(deps, context, { login: { kind: "login" } as LoginRow, provider, arrival });
    return "in";
  } catch (error) {
    if (error instanceof LoginFlowEnded) return error.reason;
    throw error;
  }
}

/** The database; the first look for a link in it is followed by `meanwhile`. */
function interrupted(meanwhile: () => Promise<void>): Database {
  let isOpen = true;
  const watched = (tx: Tx): Tx => ({
    ...tx,
    async query<R>(statement: Parameters<Tx["query"]>[0]) {
      const rows = await tx.query<R>(statement);
      if (isOpen && String((statement as { text?: string }).text).includes("FROM sso_identities i JOIN users u")) {
        isOpen = false;
        await meanwhile();
      }
      return rows;
    },
  });
  return { ...identity.db, tx: (who, fn, options) => identity.db.tx(who, (tx) => fn(watched(tx)), options) };
}

type Account = { id: string; email: string; email_proof: string | null; status: string };
const accountsOf = async ({ orgId }: Org, email: string) => {
  const rows = await system<Account>(
    sql`SELECT id, email, email_proof, status FROM users WHERE org_id = ${orgId} AND lower(email) LIKE lower(${email}) || '%'`,
  );
  return rows.map(({ email: is, email_proof, status }) => [is === email ? "same" : "renamed", email_proof, status]);
};
const actionsAt = async ({ orgId }: Org) => {
  const rows = await system<{ body: Buffer }>(sql`SELECT body FROM outbox WHERE subject LIKE 'audit.identity.%'`);
  return rows.map(({ body }) => body.toString("latin1")).filter((body) => body.includes(orgId));
};

/** How a tenant gets an account of an address: "in", or the code or reason of the refusal. */
const paths = {
  "a link that the inviter saw": async (org: Org, email: string) => {
    const made = await invite(org.admin, email, true).catch((error: unknown) => error);
    if (made instanceof Error) return codeOf(Promise.reject(made));
    const code = await codeOf(accept((made as { inviteToken: string }).inviteToken));
    return code === "answered" ? "in" : code;
  },
  "a link that only a mail carried": async (org: Org, email: string) => {
    const code = await codeOf(invite(org.admin, email, false));
    if (code !== "answered") return code;
    const accepted = await codeOf(accept(await mailedToken(email)));
    return accepted === "answered" ? "in" : accepted;
  },
  "a provider that calls it verified": async (org: Org, email: string) => signIn(await newProvider(org), email, true),
  "a provider that cannot say so": async (org: Org, email: string) => signIn(await newProvider(org), email, null),
  "an invitation and a provider": async (org: Org, email: string) => {
    const code = await codeOf(invite(org.admin, email, true));
    return code === "answered" ? signIn(await newProvider(org), email, true) : code;
  },
} as const;
type Path = keyof typeof paths;

const holders = ["nobody", "an unproven account", "a proven account"] as const;
const domains = ["nobody's", "the tenant's own", "its partner's", "another tenant's"] as const;

/** What the rule promises (docs/sso.md#addresses-have-owners). */
function promised(path: Path, domain: (typeof domains)[number], holder: (typeof holders)[number]): string {
  const bySso = path.includes("provider");
  if (domain === "its partner's" || domain === "another tenant's") return "domain_not_allowed";
  if (path === "a provider that cannot say so" && domain === "nobody's") return "domain_not_verified";
  if (holder === "a proven account") return bySso ? "domain_not_allowed" : "invalid_token";
  return "in";
}

const cases = (Object.keys(paths) as Path[]).flatMap((path) =>
  domains.flatMap((domain) => holders.map((holder) => [path, domain, holder] as const)),
);

describe("an account of an address", () => {
  it.each(cases)("by %s, in %s domain, which %s elsewhere has", async (path, domain, holder) => {
    const [org, elsewhere] = [await newOrg(), await newOrg()];
    const host = `${randomUUID()}.example.com`;
    const email = `ada@${host}`;
    if (holder !== "nobody") await paths["a link that the inviter saw"](elsewhere, email);
    if (holder === "a proven account") {
      await system(sql`UPDATE users SET email_proof = 'mailbox' WHERE email = ${email}`);
    }
    if (domain === "the tenant's own") await verify(host, org);
    if (domain === "its partner's") await verify(host, { partnerId: org.partnerId, orgId: null });
    if (domain === "another tenant's") await verify(host, await newOrg());

    const outcome = promised(path, domain, holder);
    expect(await paths[path](org, email)).toBe(outcome);
    const proof =
      path === "a link that only a mail carried" ? "mailbox" : domain === "the tenant's own" ? "domain" : null;
    const own = await accountsOf(org, email);
    if (outcome === "in") expect(own).toEqual([["same", proof, "active"]]);
    else expect(own.filter(([, , status]) => status === "active")).toEqual([]);
    const theirs = await accountsOf(elsewhere, email);
    const yields = outcome === "in" && proof !== null;
    const left = { nobody: [], "an unproven account": [[yields ? "renamed" : "same", null, "active"]] };
    expect(theirs).toEqual(holder === "a proven account" ? [["same", "mailbox", "active"]] : left[holder]);
    if (yields && holder === "an unproven account") {
      expect((await actionsAt(org)).filter((row) => row.includes("user.email.claim"))).toHaveLength(1);
      const events = (await actionsAt(elsewhere)).filter((row) => row.includes("user.email.yield"));
      expect(events).toHaveLength(1);
      expect(events[0]).not.toContain(org.orgId);
    }
  });

  it("has one account in each tenant while unproven, and each signs in with its own password", async () => {
    const email = `${uuidv7()}@example.com`;
    const orgs = [await newOrg(), await newOrg(), await newOrg()];
    const ids: string[] = [];
    for (const [n, org] of orgs.entries()) {
      const { user, inviteToken } = await invite(org.admin, email, true);
      const chosen = `${password} ${n}`;
      await identity.usersAs(callers.service("gateway")).acceptInvite({ token: inviteToken, password: chosen });
      ids.push(user?.id ?? "");
    }
    for (const [n, id] of ids.entries()) {
      const { principal } = await identity.anonymous().login({ email, password: `${password} ${n}` });
      expect(principal?.userId).toBe(id);
    }
    expect(await codeOf(identity.anonymous().login({ email, password: `${password} 3` }))).toBe("invalid_credentials");
  });

  it("keeps no other partner's user out, however many tenants of one partner took it", async () => {
    const email = `${uuidv7()}@example.com`;
    const partnerId = await identity.addPartner();
    for (let n = 0; n < 6; n++) await paths["a link that the inviter saw"](await newOrg(partnerId), email);
    const { inviteToken } = await invite((await newOrg()).admin, email, true);
    await identity
      .usersAs(callers.service("gateway"))
      .acceptInvite({ token: inviteToken, password: "another password" });
    expect(await codeOf(identity.anonymous().login({ email, password: "another password" }))).toBe("answered");
  });

  it("in a partner's domain is the partner's to give, also inside of an organization", async () => {
    const org = await newOrg();
    const host = `${randomUUID()}.example.com`;
    await verify(host, { partnerId: org.partnerId, orgId: null });
    const partner = await identity.user(callers.partnerAdmin(org.partnerId));
    expect(await codeOf(invite(org.admin, `a@${host}`, true))).toBe("domain_not_allowed");
    const { inviteToken } = await invite(partner, `b@sub.${host}`, true, { orgId: org.orgId });
    expect(await codeOf(accept(inviteToken))).toBe("answered");
    expect(await accountsOf(org, `b@sub.${host}`)).toEqual([["same", "domain", "active"]]);
  });

  it("is refused alike in another tenant's domain, whether or not it exists", async () => {
    const [org, owner] = [await newOrg(), await newOrg()];
    const host = `${randomUUID()}.example.com`;
    await verify(host, owner);
    await paths["a link that only a mail carried"](owner, `there@${host}`);
    const provider = await newProvider(org);
    for (const name of ["there", "nobody"]) {
      expect(await signIn(provider, `${name}@${host}`, true)).toBe("domain_not_allowed");
      expect(await codeOf(invite(org.admin, `${name}@${host}`, true))).toBe("domain_not_allowed");
    }
  });

  it("linked before stays linked when another tenant verifies the domain; nothing new is matched", async () => {
    const org = await newOrg();
    const host = `${randomUUID()}.example.com`;
    const provider = await newProvider(org);
    expect(await signIn(provider, `ada@${host}`, true)).toBe("in");
    await verify(host, await newOrg());
    expect(await signIn(provider, `ada@${host}`, true)).toBe("in");
    expect(await signIn(await newProvider(org), `ada@${host}`, true)).toBe("domain_not_allowed");
  });

  it("is made once, and lets everybody in, for twelve first sign-ins at once", async () => {
    const org = await newOrg();
    const provider = await newProvider(org);
    const email = `${uuidv7()}@example.com`;
    const ends = await Promise.all(
      Array.from({ length: 12 }, () => signIn(provider, email, true, { externalId: "sub-1" })),
    );
    expect(new Set(ends)).toEqual(new Set(["in"]));
    const invited = `${uuidv7()}@example.com`;
    await invite(org.admin, invited, true);
    const accepted = await Promise.all(
      Array.from({ length: 12 }, () => signIn(provider, invited, true, { externalId: "sub-2" })),
    );
    expect(new Set(accepted)).toEqual(new Set(["in"]));
  });

  it("lets both in, when one signs in for the first time between two looks of the other", async () => {
    const provider = await newProvider(await newOrg());
    const email = `${uuidv7()}@example.com`;
    let first: Promise<string> | undefined;
    const meanwhile = async () => {
      let isOver = false;
      first = signIn(provider, email, true, { externalId: "sub" }).finally(() => {
        isOver = true;
      });
      const waits = sql`
        SELECT FROM pg_locks l JOIN pg_database d ON d.oid = l.database
        WHERE l.locktype = 'advisory' AND NOT l.granted AND d.datname = current_database()`;
      await until("the other to end or to wait", async () => isOver || (await system(waits)).length > 0);
    };
    const second = await signIn(provider, email, true, { externalId: "sub", db: interrupted(meanwhile) });
    expect([await first, second]).toEqual(["in", "in"]);
  });

  it("is proven by a link for a new password, unless other accounts have the address, too", async () => {
    const [org, other] = [await newOrg(), await newOrg()];
    const [single, shared] = [`${uuidv7()}@example.com`, `${uuidv7()}@example.com`];
    for (const email of [single, shared]) await paths["a link that the inviter saw"](org, email);
    await paths["a link that the inviter saw"](other, shared);
    const reset = async (email: string) => {
      const token = `pwr_${randomUUID()}`;
      const [row] = await system<{ id: string }>(
        sql`SELECT id FROM users WHERE email = ${email} AND org_id = ${org.orgId}`,
      );
      await system(sql`
        INSERT INTO password_resets (id, user_id, token_hash, created_at, expires_at)
        VALUES (${uuidv7()}, ${row?.id ?? ""}, sha256(${Buffer.from(token)}), now(), now() + interval '1 hour')`);
      await identity.accountAs(callers.service("gateway")).resetPassword({ token, password: "set by a mailed link" });
    };
    await reset(single);
    await reset(shared);
    expect(await accountsOf(org, single)).toEqual([["same", "mailbox", "active"]]);
    expect(await accountsOf(org, shared)).toEqual([["same", null, "active"]]);
    expect(await paths["a link that the inviter saw"](other, single)).toBe("invalid_token");
  });
});

describe("the verification of a domain", () => {
  const verified = async (domain: string, owner: Tenant) => {
    await verify(domain, owner);
    return identity.db.tx(identity.system, async (tx) => {
      await lockDomainOwner(tx, domain);
      return claimDomain(tx, context, { domain, owner }, identity.clock.now);
    });
  };

  it("takes addresses from others that did not prove their mailbox, and proves those of its owner", async () => {
    const [owner, other] = [await newOrg(), await newOrg()];
    const host = `${randomUUID()}.example.com`;
    for (const name of ["squatted", "assumed", "mailed"]) {
      await paths["a link that the inviter saw"](other, `${name}@${host}`);
    }
    await system(sql`UPDATE users SET email_proof = 'assumed' WHERE email = ${`assumed@${host}`}`);
    await system(sql`UPDATE users SET email_proof = 'mailbox' WHERE email = ${`mailed@${host}`}`);
    await paths["a link that the inviter saw"](owner, `own@sub.${host}`);
    await paths["a link that the inviter saw"](owner, `squatted@${host}`);
    const waiting = await invite(other.admin, `waiting@${host}`, true);

    expect(await verified(host, owner)).toEqual({ yielded: 2, proven: 2 });
    expect(await accountsOf(other, `squatted@${host}`)).toEqual([["renamed", null, "active"]]);
    expect(await accountsOf(other, `assumed@${host}`)).toEqual([["renamed", null, "active"]]);
    expect(await accountsOf(other, `mailed@${host}`)).toEqual([["same", "mailbox", "active"]]);
    expect(await accountsOf(owner, `own@sub.${host}`)).toEqual([["same", "domain", "active"]]);
    expect(await accountsOf(owner, `squatted@${host}`)).toEqual([["same", "domain", "active"]]);
    expect((await actionsAt(other)).filter((row) => row.includes("user.email.yield"))).toHaveLength(2);
    expect(await codeOf(accept(waiting.inviteToken))).toBe("invalid_token");
    const refused = (await actionsAt(other)).filter(
      (row) => row.includes("user.invite.accept") && row.includes("denied"),
    );
    expect(refused).toHaveLength(1);
    expect(await paths["a link that the inviter saw"](owner, `mailed@${host}`)).toBe("invalid_token");
  });

  it("spares a domain below it that is verified itself, and finds addresses in their own letters", async () => {
    const [owner, below, other] = [await newOrg(), await newOrg(), await newOrg()];
    const host = `${randomUUID()}.example.com`;
    await verify(`below.${host}`, below);
    await paths["a link that the inviter saw"](below, `ada@below.${host}`);
    await paths["a link that the inviter saw"](other, `ada@b\u00fccher.${host}`);
    await paths["a link that the inviter saw"](other, `ada@x${host}`);
    expect(await verified(`xn--bcher-kva.${host}`, owner)).toEqual({ yielded: 1, proven: 0 });
    expect(await verified(host, await newOrg())).toEqual({ yielded: 0, proven: 0 });
    expect(await accountsOf(below, `ada@below.${host}`)).toEqual([["same", "domain", "active"]]);
  });

  it("counts no more once the domain is given up", async () => {
    const owner = await newOrg();
    const host = `${randomUUID()}.example.com`;
    await paths["a link that the inviter saw"](owner, `ada@${host}`);
    expect(await verified(host, owner)).toEqual({ yielded: 0, proven: 1 });
    await system(sql`DELETE FROM sso_domains WHERE domain = ${host}`);
    expect(await identity.db.tx(identity.system, (tx) => forgetDomainProofs(tx, host, owner))).toBe(1);
    expect(await accountsOf(owner, `ada@${host}`)).toEqual([["same", null, "active"]]);
  });
});
