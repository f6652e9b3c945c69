import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type CallContext, systemCaller, uuidv7 } from "@muster/kit";
import { callers, databaseAs, foreignTextProblems } from "@muster/testing";
import { startTenancy, type TestTenancy } from "../testing/tenancy.ts";
import { findOrganization, listOrganizations, listOrganizationsInScope } from "./organizations.ts";
import { findPartner, listPartners } from "./partners.ts";
import { findSite, listSites } from "./sites.ts";
import { snapshotPage } from "./snapshot.ts";

let tenancy: TestTenancy;
beforeAll(async () => {
  tenancy = await startTenancy();
});
afterAll(async () => {
  await tenancy?.stop();
});

const page = { page: 1, limit: 50, cursor: null, skipCount: false };
const empty = { rows: [], total: 0, totalIsEstimate: false, nextCursor: "" };
const meta = { requestId: "r", clientAddress: null, userAgent: null, traceparent: null };
const context = (caller: CallContext["caller"]): CallContext => {
  return { caller, meta, deadlineMs: null, signal: new AbortController().signal };
};

describe("the store", () => {
  it("returns nothing to a transaction without a tenant, whatever the query is", async () => {
    const partner = await tenancy.partner();
    const org = await tenancy.organization(partner.id);
    const site = await tenancy.site(org);
    const { db } = tenancy.database;
    // Row-level security sees no scope, while the queries' own predicates let everything pass.
    const blind = databaseAs(db, null);
    const who = context(systemCaller("tenancy"));
    expect(await findPartner(blind, who, partner.id)).toBeNull();
    expect(await listPartners(blind, who, "", page)).toEqual(empty);
    expect(await findOrganization(blind, who, org)).toBeNull();
    expect(
      await listOrganizations(blind, who, { partnerId: null, search: "", hasCounts: false, sort: "name" }, page),
    ).toEqual(empty);
    expect(await listOrganizationsInScope(blind, who, 10)).toEqual([]);
    expect(await findSite(blind, who, site)).toBeNull();
    expect(await listSites(blind, who, { orgId: null, search: "", hasCounts: false, sort: "name" }, page)).toEqual(
      empty,
    );
    await expect(
      listSites(blind, who, { orgId: org, search: "", hasCounts: false, sort: "name" }, page),
    ).rejects.toMatchObject({
      code: "organization_not_found",
    });
    expect(await snapshotPage(blind, who, null, 10)).toEqual([]);
  });

  it("takes an anonymous caller's text in every column", async () => {
    expect(await foreignTextProblems(tenancy.database)).toEqual([]);
  });

  it("enforces each barrier separately: the policies hide rows that a query fails to exclude", async () => {
    const [own, other] = [await tenancy.partner(), await tenancy.partner()];
    const mine = await tenancy.organization(own.id);
    const theirs = await tenancy.organization(other.id);
    const site = await tenancy.site(theirs);
    const { db } = tenancy.database;
    const users = [
      callers.partnerAdmin(own.id),
      callers.partnerWithList(own.id, [mine, theirs]),
      callers.orgAdmin(own.id, mine),
      callers.orgAdmin(own.id, mine, { siteIds: [site] }),
      callers.partnerAdmin(uuidv7()),
    ];
    for (const caller of users) {
      const as = databaseAs(db, caller);
      const who = context(systemCaller("tenancy"));
      expect(await findOrganization(as, who, theirs)).toBeNull();
      expect(await findSite(as, who, site)).toBeNull();
      expect(
        (
          await listOrganizations(as, who, { partnerId: null, search: "", hasCounts: false, sort: "name" }, page)
        ).rows.map(({ id }) => id),
      ).not.toContain(theirs);
      expect(
        (await listSites(as, who, { orgId: null, search: "", hasCounts: false, sort: "name" }, page)).rows,
      ).toEqual([]);
    }
  });
});
