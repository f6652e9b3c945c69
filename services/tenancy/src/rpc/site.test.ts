import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Caller, uuidv7 } from "@muster/kit";
import { callers, outcome } from "@muster/testing";
import { startTenancy, type TestTenancy } from "../testing/tenancy.ts";

let tenancy: TestTenancy;
let partnerId: string;
let otherPartnerId: string;
beforeAll(async () => {
  tenancy = await startTenancy();
  partnerId = (await tenancy.partner()).id;
  otherPartnerId = (await tenancy.partner()).id;
});
afterAll(async () => {
  await tenancy?.stop();
});

const as = (caller: Caller) => tenancy.sites(caller);
const admin = callers.platformAdmin();
const idsOf = ({ sites }: { sites: { id: string }[] }) => sites.map(({ id }) => id);

/** What each call on one site answers. */
async function access(caller: Caller, id: string) {
  const change = { id, updateMask: { paths: ["name"] }, site: { name: "Changed" } };
  return [
    await outcome(as(caller).getSite({ id })),
    await outcome(as(caller).updateSite(change)),
    await outcome(as(caller).deleteSite({ id })),
  ];
}

describe("a site", () => {
  it("is created with UTC, changed and deleted permanently; each leaves one event and one audit row", async () => {
    const orgId = await tenancy.organization(partnerId);
    const caller = callers.orgAdmin(partnerId, orgId);
    const { site } = await as(caller).createSite({ orgId, name: "Berlin", addressJson: '{"city":"Berlin"}' });
    const id = site?.id ?? "";
    expect(site).toMatchObject({ orgId, name: "Berlin", timezone: "UTC", addressJson: '{"city":"Berlin"}' });
    expect((await as(caller).getSite({ id })).site).toEqual(site);
    const paths = ["timezone", "address_json", "settings_json", "org_id"];
    const wanted = { timezone: "Europe/Berlin", addressJson: '{"zip":"1"}', settingsJson: '{"a":1}', orgId: uuidv7() };
    const changed = await as(caller).updateSite({ id, updateMask: { paths }, site: wanted });
    expect(changed.site).toMatchObject({ ...wanted, orgId, name: "Berlin" });
    expect(await outcome(as(caller).updateSite({ id, updateMask: { paths: ["org_id"] }, site: wanted }))).toBe(
      "no_updates",
    );
    await as(caller).deleteSite({ id });
    expect(await access(caller, id)).toEqual(["site_not_found", "site_not_found", "site_not_found"]);

    const rows = await tenancy.emitted(id);
    expect(rows.map((r) => r.audit?.action ?? `${r.subject} ${r.event?.version}`)).toEqual([
      "tenancy.site.created 1",
      "site.create",
      "tenancy.site.updated 2",
      "site.update",
      "tenancy.site.deleted 3",
      "site.delete",
    ]);
    expect(rows.map((r) => r.event?.deleted).filter((d) => d !== undefined)).toEqual([false, false, true]);
    expect(rows[0]).toMatchObject({ msgId: `${orgId}/site-${id}-1`, event: { kind: "site", partnerId, orgId } });
    expect(rows[3]?.audit).toMatchObject({
      orgId,
      partnerId,
      chainId: orgId,
      details: { changedFields: ["timezone", "address", "settings"], changes: { before: { timezone: "UTC" } } },
    });
  });

  it("belongs to an organization that is not deleted, within the caller's scope", async () => {
    const orgId = await tenancy.organization(partnerId);
    const deleted = await tenancy.organization(partnerId);
    await tenancy.organizations(admin).deleteOrganization({ id: deleted });
    const before = await tenancy.footprint();
    const at = (caller: Caller, id: string) => outcome(as(caller).createSite({ orgId: id, name: "x" }));
    const denied = "organization_access_denied";
    expect(await at(callers.orgAdmin(partnerId, uuidv7()), orgId)).toBe(denied);
    expect(await at(callers.partnerAdmin(otherPartnerId), orgId)).toBe(denied);
    expect(await at(callers.partnerWithList(partnerId, []), orgId)).toBe(denied);
    expect(await at(callers.partnerAdmin(partnerId), deleted)).toBe(denied);
    expect(await at(callers.partnerAdmin(partnerId), uuidv7())).toBe(denied);
    // Nothing is closed to a system caller: it is missing.
    for (const id of [deleted, uuidv7(), "nonsense"]) expect(await at(admin, id)).toBe("organization_not_found");
    expect(await at(callers.orgAdmin(partnerId, orgId, { siteIds: [] }), orgId)).toBe("site_restricted");
    expect(await at(callers.orgAdmin(partnerId, orgId, { permissions: ["organizations:read"] }), orgId)).toBe(
      "permission_denied",
    );
    expect(await at(callers.orgAdmin(partnerId, "", { orgId: null }), orgId)).toBe("misconfigured_account");
    expect(await tenancy.footprint()).toBe(before);
    expect(await at(callers.partnerWithList(partnerId, [orgId]), orgId)).toBe("ok");
  });

  it("is denied to a caller without access to its organization, and 404 only when it does not exist", async () => {
    const orgId = await tenancy.organization(partnerId);
    const id = await tenancy.site(orgId);
    const denied = Array(3).fill("site_access_denied");
    const before = await tenancy.footprint();
    expect(await access(callers.partnerAdmin(otherPartnerId), id)).toEqual(denied);
    expect(await access(callers.partnerWithList(partnerId, []), id)).toEqual(denied);
    expect(await access(callers.orgAdmin(partnerId, uuidv7()), id)).toEqual(denied);
    for (const missing of [uuidv7(), "nonsense"]) {
      for (const caller of [admin, callers.partnerAdmin(otherPartnerId)]) {
        expect(await access(caller, missing)).toEqual(Array(3).fill("site_not_found"));
      }
    }
    expect(await tenancy.footprint()).toBe(before);
    expect(await access(callers.partnerWithList(partnerId, [orgId]), id)).toEqual(["ok", "ok", "ok"]);
  });

  it("stays visible, in a deleted organization, to system callers only", async () => {
    const orgId = await tenancy.organization(partnerId);
    const id = await tenancy.site(orgId);
    await tenancy.organizations(admin).deleteOrganization({ id: orgId });
    for (const caller of [callers.partnerAdmin(partnerId), callers.orgAdmin(partnerId, orgId)]) {
      expect(await access(caller, id)).toEqual(Array(3).fill("site_access_denied"));
      expect(await outcome(as(caller).listSites({ orgId }))).toBe("organization_access_denied");
    }
    expect(idsOf(await as(callers.partnerAdmin(partnerId)).listSites({ page: { limit: 100 } }))).not.toContain(id);
    expect(idsOf(await as(admin).listSites({ orgId }))).toEqual([id]);
    expect(await access(admin, id)).toEqual(["ok", "ok", "ok"]);
  });
});

describe("lists of sites", () => {
  it("contain the caller's sites by name, of one organization or of all", async () => {
    const own = (await tenancy.partner()).id;
    const [one, two] = [await tenancy.organization(own), await tenancy.organization(own)];
    const [b, c, a] = [await tenancy.site(one, "B"), await tenancy.site(two, "C"), await tenancy.site(one, "A")];
    const list = async (caller: Caller, orgId = "") => idsOf(await as(caller).listSites({ orgId }));
    expect(await list(callers.partnerAdmin(own))).toEqual([a, b, c]);
    expect(await list(callers.partnerAdmin(own), one)).toEqual([a, b]);
    expect(await list(callers.partnerWithList(own, [two]))).toEqual([c]);
    expect(await list(callers.partnerWithList(own, []))).toEqual([]);
    expect(await list(callers.orgAdmin(own, one))).toEqual([a, b]);
    expect(await list(callers.orgAdmin(own, one), one.toUpperCase())).toEqual([a, b]);
    expect(await list(admin, two)).toEqual([c]);
    const denied = [
      as(callers.partnerAdmin(otherPartnerId)).listSites({ orgId: one }),
      as(callers.partnerWithList(own, [two])).listSites({ orgId: one }),
      as(callers.orgAdmin(own, one)).listSites({ orgId: two }),
      as(callers.partnerAdmin(own)).listSites({ orgId: uuidv7() }),
    ];
    expect(await Promise.all(denied.map(outcome))).toEqual(Array(4).fill("organization_access_denied"));
    const missing = [uuidv7(), "nonsense"].map((orgId) => as(admin).listSites({ orgId }));
    expect(await Promise.all(missing.map(outcome))).toEqual(Array(2).fill("organization_not_found"));
  });

  it("are searched by a part of the name, with wildcards taken literally", async () => {
    const orgId = await tenancy.organization(partnerId);
    const caller = callers.orgAdmin(partnerId, orgId);
    for (const name of ["Berlin 100%", "Lisbon"]) await as(caller).createSite({ orgId, name });
    const found = async (search: string) =>
      (await as(caller).listSites({ orgId, search })).sites.map(({ name }) => name);
    expect(await found("BERL")).toEqual(["Berlin 100%"]);
    expect(await found("0%")).toEqual(["Berlin 100%"]);
    expect(await found("_")).toEqual([]);
    expect(await found("")).toEqual(["Berlin 100%", "Lisbon"]);
    expect(await outcome(as(caller).listSites({ orgId, search: "x".repeat(256) }))).toBe("validation_failed search");
    expect(Number((await as(caller).listSites({ orgId, search: "li" })).page?.total)).toBe(2);
  });

  it("show restricted users their sites only; these they may change, not delete", async () => {
    const orgId = await tenancy.organization(partnerId);
    const [mine, other] = [await tenancy.site(orgId), await tenancy.site(orgId)];
    const foreign = await tenancy.site(await tenancy.organization(otherPartnerId));
    const caller = callers.orgAdmin(partnerId, orgId, { siteIds: [mine, foreign] });
    const page = await as(caller).listSites({ orgId });
    expect([idsOf(page), page.page?.total]).toEqual([[mine], 1n]);
    expect(await access(caller, mine)).toEqual(["ok", "ok", "site_restricted"]);
    expect(await access(caller, other)).toEqual(["site_access_denied", "site_access_denied", "site_restricted"]);
    expect(await outcome(as(caller).getSite({ id: foreign }))).toBe("site_access_denied");
    const none = callers.partnerAdmin(partnerId, { siteIds: [] });
    expect(idsOf(await as(none).listSites({}))).toEqual([]);
  });

  it("do not repeat or skip, by number and by cursor", async () => {
    const orgId = await tenancy.organization(partnerId);
    for (const name of ["Same", "Same", "A", "Same", "Z"]) await tenancy.site(orgId, name);
    const caller = callers.orgAdmin(partnerId, orgId);
    const all = idsOf(await as(caller).listSites({}));
    const byCursor: string[] = [];
    let cursor = "";
    do {
      const reply = await as(caller).listSites({ page: { limit: 2, cursor } });
      byCursor.push(...idsOf(reply));
      cursor = reply.page?.nextCursor ?? "";
    } while (cursor !== "");
    expect(byCursor).toEqual(all);
    const pages = [1, 2, 3, 4].map(async (page) => idsOf(await as(caller).listSites({ page: { limit: 2, page } })));
    expect((await Promise.all(pages)).flat()).toEqual(all);
  });

  it("are merged over the listed organizations as over all of them", async () => {
    const own = (await tenancy.partner()).id;
    const orgs = [await tenancy.organization(own), await tenancy.organization(own), await tenancy.organization(own)];
    for (const name of ["C", "A", "Same", "Same"]) for (const org of orgs) await tenancy.site(org, name);
    const everything = idsOf(await as(callers.partnerAdmin(own)).listSites({}));
    const caller = callers.partnerWithList(own, [...orgs, ...orgs]);
    expect(idsOf(await as(caller).listSites({}))).toEqual(everything);
    const pages = [1, 2, 3].map(async (page) => idsOf(await as(caller).listSites({ page: { limit: 5, page } })));
    expect((await Promise.all(pages)).flat()).toEqual(everything);
    const first = await as(caller).listSites({ page: { limit: 5 } });
    const second = await as(caller).listSites({ page: { limit: 100, cursor: first.page?.nextCursor ?? "" } });
    expect([...idsOf(first), ...idsOf(second)]).toEqual(everything);
    expect(second.page?.total).toBe(12n);
  });
});
