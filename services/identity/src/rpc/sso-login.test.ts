import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { sql } from "@muster/db";
import { systemCaller, uuidv7 } from "@muster/kit";
import { testDatabase } from "@muster/testing";
import type { SsoDeps } from "../deps.ts";
import { identityDirs } from "../testing/identity.ts";
import { ssoLoginService } from "./sso-login.ts";

let database: Awaited<ReturnType<typeof testDatabase>>;
const system = { caller: systemCaller("identity") };
const now = new Date();

beforeAll(async () => {
  database = await testDatabase({ service: "identity", dirs: identityDirs });
}, 120_000);
afterAll(() => database?.drop());

type Change = { verified?: boolean; status?: string; ofPartner?: boolean; tenant?: string };

/** A domain of a new place that has a provider. */
async function claimed(
  domain: string,
  { verified = true, status = "active", ofPartner = false, tenant = "active" }: Change = {},
) {
  const [partnerId, ownOrg, id] = [uuidv7(), uuidv7(), uuidv7()];
  const orgId = ofPartner ? null : ownOrg;
  await database.db.tx(system, async (tx) => {
    await tx.execute(sql`
      INSERT INTO tenant (kind, id, partner_id, org_id, version, status, deleted, updated_at)
      VALUES ('partner', ${partnerId}, ${partnerId}, NULL, 1, 'active', false, ${now}),
             ('organization', ${ownOrg}, ${partnerId}, ${ownOrg}, 1, ${tenant}, false, ${now})`);
    await tx.execute(sql`
      INSERT INTO sso_providers (id, partner_id, org_id, name, type, status, scopes, created_by, created_at, updated_at)
      VALUES (${id}, ${partnerId}, ${orgId}, ${`Provider of ${domain}`}, 'oidc', ${status}, 'openid', ${id}, ${now}, ${now})`);
    await tx.execute(sql`
      INSERT INTO sso_domains (id, partner_id, org_id, domain, token, verified_at, created_by, created_at)
      VALUES (${id}, ${partnerId}, ${orgId}, ${domain}, 'token', ${verified ? now : null}, ${id}, ${now})`);
  });
  return { partnerId, orgId };
}

const find = (email: string) =>
  ssoLoginService({ db: database.db } as SsoDeps).findSso({ email } as never, undefined as never);

describe("the identity provider of an e-mail address", () => {
  it("is that of the organization, or of the partner, that verified its domain, however it is written", async () => {
    const acme = await claimed("acme.example");
    const expected = { providerName: "Provider of acme.example", orgId: acme.orgId, enforced: false };
    expect(await find("Ada@ACME.example")).toEqual(expected);
    expect(await find("ada@acme.example.")).toEqual(expected);
    const partner = await claimed("msp.example", { ofPartner: true });
    expect(await find("grace@msp.example")).toMatchObject({ partnerId: partner.partnerId });
  });

  it.each<[string, Change]>([
    ["a domain that is not verified", { verified: false }],
    ["a provider that is not active", { status: "testing" }],
    ["an organization that has left", { tenant: "churned" }],
  ])("of %s is answered as that of nobody", async (_what, change) => {
    const domain = `${uuidv7()}.example`;
    await claimed(domain, change);
    expect(await find(`ada@${domain}`)).toEqual(await find("ada@unknown.example"));
    expect(await find(`ada@${domain}`)).toEqual({});
  });

  it.each(["", "ada", "@acme.example", "ada@sub.acme.example", "ada@acme", "ada@127.0.0.1"])(
    "of %j is nobody's",
    async (email) => {
      expect(await find(email)).toEqual({});
    },
  );
});
