import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Caller, uuidv7 } from "@muster/kit";
import { callers, outcome } from "@muster/testing";
import { slug, startTenancy, type TestTenancy } from "../testing/tenancy.ts";

let tenancy: TestTenancy;
beforeAll(async () => {
  tenancy = await startTenancy();
});
afterAll(async () => {
  await tenancy?.stop();
});

const admin = () => tenancy.organizations(callers.platformAdmin());
const as = (caller: Caller) => tenancy.organizations(caller);
const idsOf = ({ organizations }: { organizations: { id: string }[] }) => organizations.map(({ id }) => id);

describe("creating an organization", () => {
  it("uses the defaults, and leaves one event and one audit row", async () => {
    const { id: partnerId } = await tenancy.partner();
    const wanted = { name: "Customer", slug: slug(), maxDevices: 5, billingContactJson: '{"name":"Ada"}' };
    const { organization } = await as(callers.partnerAdmin(partnerId)).createOrganization(wanted);
    expect(organization).toMatchObject({ partnerId, ...wanted, type: "customer", status: "active" });
    const id = organization?.id ?? "";
    expect((await admin().getOrganization({ id })).organization).toEqual(organization);
    const [event, audited, ...more] = await tenancy.emitted(id);
    expect(more).toEqual([]);
    expect(event).toMatchObject({
      subject: "tenancy.organization.created",
      msgId: `${id}/organization-${id}-1`,
      event: { kind: "organization", id, version: 1n, partnerId, orgId: id, status: "active", deleted: false },
    });
    expect(audited?.audit).toMatchObject({
      action: "organization.create",
      orgId: id,
      partnerId,
      chainId: id,
      resourceName: "Customer",
      details: { partnerId, status: "active", type: "customer", changes: { before: {}, after: { name: "Customer" } } },
    });
  });

  it("holds the partner's cap exactly, on two processes at once, and frees a deleted one's share of it", async () => {
    const { id: partnerId } = await tenancy.partner({ maxOrganizations: 3 });
    const other = await tenancy.anotherProcess();
    const caller = callers.partnerAdmin(partnerId);
    const create = async (i: number): Promise<string> => {
      const wanted = { name: `O${i}`, slug: slug() };
      const code = await outcome((i % 2 ? other : tenancy).organizations(caller).createOrganization(wanted));
      // Nothing was changed: the request waited too long for a connection, and is repeated as its client would.
      return code === "overloaded" ? create(i) : code;
    };
    const answers = await Promise.all(Array.from({ length: 50 }, (_, i) => create(i)));
    expect(answers.filter((answer) => answer === "ok")).toHaveLength(3);
    expect(answers.filter((answer) => answer === "limit_reached")).toHaveLength(47);
    const { organizations } = await as(caller).listAccessibleOrganizations({});
    expect(organizations).toHaveLength(3);
    const [first] = organizations;
    const again = { name: "Again", slug: first?.slug ?? "" };
    await expect(as(caller).createOrganization(again)).rejects.toMatchObject({ rawMessage: /limit/ });
    await as(caller).deleteOrganization({ id: first?.id ?? "" });
    expect(await outcome(as(caller).createOrganization(again))).toBe("ok");
    expect(await outcome(as(caller).createOrganization({ name: "Fourth", slug: slug() }))).toBe("limit_reached");
  });

  it("makes a slug unique among the organizations of one partner only, without deleted ones", async () => {
    const [one, two] = [await tenancy.partner(), await tenancy.partner()];
    const wanted = slug();
    const at = (partnerId: string, text: string) =>
      outcome(admin().createOrganization({ partnerId, name: "x", slug: text }));
    expect(await at(one.id, wanted)).toBe("ok");
    expect(await at(one.id, wanted.toUpperCase())).toBe("slug_taken");
    expect(await at(two.id, wanted)).toBe("ok");
  });

  it("checks who creates it where, with the documented errors", async () => {
    const { id: partnerId } = await tenancy.partner();
    const deleted = await tenancy.partner();
    await tenancy.partners(callers.platformAdmin()).deletePartner({ id: deleted.id });
    const before = await tenancy.footprint();
    const at = (caller: Caller, wanted: { partnerId?: string } = {}) =>
      outcome(as(caller).createOrganization({ name: "x", slug: slug(), ...wanted }));
    expect(await at(callers.platformAdmin())).toBe("partner_id_required");
    expect(await at(callers.platformAdmin(), { partnerId: uuidv7() })).toBe("partner_not_found");
    expect(await at(callers.platformAdmin(), { partnerId: "nonsense" })).toBe("partner_not_found");
    expect(await at(callers.platformAdmin(), { partnerId: deleted.id })).toBe("partner_not_found");
    expect(await at(callers.partnerAdmin(deleted.id))).toBe("partner_not_found");
    expect(await at(callers.partnerAdmin(partnerId), { partnerId: uuidv7() })).toBe("partner_access_denied");
    expect(await at(callers.partnerAdmin("", { partnerId: null }))).toBe("partner_context_required");
    expect(await at(callers.partnerWithList(partnerId, []))).toBe("scope_not_allowed");
    expect(await at(callers.orgAdmin(partnerId, uuidv7()))).toBe("scope_not_allowed");
    expect(await at(callers.partnerAdmin(partnerId, { siteIds: [] }))).toBe("site_restricted");
    expect(await at(callers.partnerAdmin(partnerId, { permissions: ["organizations:read"] }))).toBe(
      "permission_denied",
    );
    expect(await tenancy.footprint()).toBe(before);
    expect(await at(callers.partnerAdmin(partnerId), { partnerId: partnerId.toUpperCase() })).toBe("ok");
  });
});

describe("changing an organization", () => {
  const change = (caller: Caller, id: string, paths: string[], organization: object) =>
    as(caller).updateOrganization({ id, updateMask: { paths }, organization });

  it("writes the masked fields; its partner is not among them", async () => {
    const { id: partnerId } = await tenancy.partner();
    const id = await tenancy.organization(partnerId);
    const paths = ["partner_id", "status", "contract_start", "settings_json", "name"];
    const contractStart = { seconds: 1_700_000_000n, nanos: 0 };
    const wanted = { partnerId: uuidv7(), status: "trial", contractStart, settingsJson: '{"a":1}', name: "New" };
    const { organization } = await change(callers.partnerAdmin(partnerId), id, paths, wanted);
    expect(organization).toMatchObject({ partnerId, status: "trial", settingsJson: '{"a":1}', name: "New" });
    const [, , event, audited, ...more] = await tenancy.emitted(id);
    expect(more).toEqual([]);
    expect(event).toMatchObject({ subject: "tenancy.organization.updated", event: { version: 2n, status: "trial" } });
    expect(audited?.audit).toMatchObject({
      action: "organization.update",
      details: {
        changedFields: ["name", "status", "settings", "contractStart"],
        changes: { before: { name: "Organization", contractStart: null }, after: { name: "New", settings: { a: 1 } } },
      },
    });
    expect(await outcome(change(callers.platformAdmin(), id, ["partner_id"], wanted))).toBe("no_updates");
    const cleared = await change(callers.platformAdmin(), id, ["contract_start"], {});
    expect(cleared.organization?.contractStart).toBeUndefined();
  });

  it("keeps the contract's end behind its start, whichever of them changes", async () => {
    const id = await tenancy.organization((await tenancy.partner()).id);
    const at = (seconds: number) => ({ seconds: BigInt(seconds), nanos: 0 });
    await change(callers.platformAdmin(), id, ["contract_start"], { contractStart: at(1_700_000_000) });
    const early = { contractEnd: at(1_600_000_000) };
    expect(await outcome(change(callers.platformAdmin(), id, ["contract_end"], early))).toBe(
      "validation_failed contractEnd",
    );
    expect(
      await outcome(change(callers.platformAdmin(), id, ["contract_end"], { contractEnd: at(1_700_000_000) })),
    ).toBe("ok");
    expect(
      await outcome(change(callers.platformAdmin(), id, ["contract_start"], { contractStart: at(1_800_000_000) })),
    ).toBe("validation_failed contractEnd");
  });
});

describe("the access scope", () => {
  it("is exactly the caller's own: partner all, a list, an empty list, the organization", async () => {
    const [one, two] = [await tenancy.partner(), await tenancy.partner()];
    const [b, a, c] = [
      await tenancy.organization(one.id, "B"),
      await tenancy.organization(one.id, "A"),
      await tenancy.organization(one.id, "C"),
    ];
    const foreign = await tenancy.organization(two.id);
    const users: [Caller, string[]][] = [
      [callers.partnerAdmin(one.id), [a, b, c]],
      [callers.partnerWithList(one.id, [c, b]), [b, c]],
      [callers.partnerWithList(one.id, [b, foreign, uuidv7()]), [b]],
      [callers.partnerWithList(one.id, []), []],
      [callers.partnerAdmin(uuidv7()), []],
      [callers.partnerAdmin("", { partnerId: null }), []],
    ];
    for (const [caller, visible] of users) {
      const page = await as(caller).listOrganizations({});
      expect(idsOf(page)).toEqual(visible);
      expect(Number(page.page?.total)).toBe(visible.length);
      expect(idsOf(await as(caller).listAccessibleOrganizations({}))).toEqual(visible);
      for (const id of [a, b, c, foreign]) {
        const expected = visible.includes(id) ? "ok" : "organization_not_found";
        expect(await outcome(as(caller).getOrganization({ id }))).toBe(expected);
      }
    }
    const own = as(callers.orgAdmin(one.id, a));
    expect(idsOf(await own.listAccessibleOrganizations({}))).toEqual([a]);
    expect(await outcome(own.listOrganizations({}))).toBe("scope_not_allowed");
    expect(await outcome(own.getOrganization({ id: a }))).toBe("scope_not_allowed");
    expect(await outcome(as(callers.orgAdmin(one.id, "", { orgId: null })).listAccessibleOrganizations({}))).toBe(
      "misconfigured_account",
    );
  });

  it("excludes other tenants' organizations: nothing is written and no event emitted", async () => {
    const [one, two] = [await tenancy.partner(), await tenancy.partner()];
    const id = await tenancy.organization(one.id);
    const before = await tenancy.footprint();
    const outsiders = [callers.partnerAdmin(two.id), callers.partnerWithList(one.id, [])];
    for (const caller of outsiders) {
      const change = { id, updateMask: { paths: ["name"] }, organization: { name: "Mine" } };
      expect(await outcome(as(caller).updateOrganization(change))).toBe("organization_not_found");
      expect(await outcome(as(caller).deleteOrganization({ id }))).toBe("organization_not_found");
    }
    const limited = callers.partnerAdmin(one.id, { siteIds: [uuidv7()] });
    expect(await outcome(as(limited).deleteOrganization({ id }))).toBe("site_restricted");
    expect(await tenancy.footprint()).toBe(before);
  });

  it("is filtered by one partner, with 404 for one that does not exist or is not the caller's", async () => {
    const [one, two] = [await tenancy.partner(), await tenancy.partner()];
    const id = await tenancy.organization(one.id);
    expect(idsOf(await admin().listOrganizations({ partnerId: one.id }))).toEqual([id]);
    expect(idsOf(await as(callers.partnerAdmin(one.id)).listOrganizations({ partnerId: one.id }))).toEqual([id]);
    const strange = as(callers.partnerAdmin(two.id)).listOrganizations({ partnerId: one.id });
    expect(await outcome(strange)).toBe("partner_not_found");
    expect(await outcome(admin().listOrganizations({ partnerId: uuidv7() }))).toBe("partner_not_found");
  });

  it("ends with the deletion: an organization is inaccessible to all callers, once", async () => {
    const { id: partnerId } = await tenancy.partner();
    const id = await tenancy.organization(partnerId);
    const caller = callers.partnerWithList(partnerId, [id]);
    await as(caller).deleteOrganization({ id });
    for (const who of [caller, callers.platformAdmin()]) {
      expect(await outcome(as(who).getOrganization({ id }))).toBe("organization_not_found");
      expect(await outcome(as(who).deleteOrganization({ id }))).toBe("organization_not_found");
      expect(idsOf(await as(who).listOrganizations({ partnerId }))).toEqual([]);
    }
    expect(idsOf(await as(callers.orgAdmin(partnerId, id)).listAccessibleOrganizations({}))).toEqual([]);
    const [, , event, audited, ...more] = await tenancy.emitted(id);
    expect(more).toEqual([]);
    expect(event).toMatchObject({ subject: "tenancy.organization.deleted", event: { version: 2n, deleted: true } });
    expect(audited?.audit).toMatchObject({ action: "organization.delete", details: { changes: { after: {} } } });
  });
});

describe("pages of organizations", () => {
  it("do not repeat or skip, by number and by cursor, equal names included", async () => {
    const { id: partnerId } = await tenancy.partner();
    for (const name of ["Same", "Äther", "same", "Same", "Same", "Zebra", "日本"]) {
      await tenancy.organization(partnerId, name);
    }
    const caller = callers.partnerAdmin(partnerId);
    const all = idsOf(await as(caller).listAccessibleOrganizations({}));
    const byCursor: string[] = [];
    let cursor = "";
    do {
      const reply = await as(caller).listOrganizations({ page: { limit: 2, cursor, skipCount: true } });
      byCursor.push(...idsOf(reply));
      expect(reply.page?.total).toBeUndefined();
      cursor = reply.page?.nextCursor ?? "";
    } while (cursor !== "");
    expect(byCursor).toEqual(all);
    const byNumber: string[] = [];
    for (const page of [1, 2, 3, 4, 5]) {
      const reply = await as(caller).listOrganizations({ page: { limit: 2, page } });
      byNumber.push(...idsOf(reply));
      expect(reply.page).toMatchObject({ page, limit: 2, total: 7n });
    }
    expect(byNumber).toEqual(all);
  });

  it.each([
    "nonsense",
    Buffer.from('["a","b"]').toString("base64url"),
    Buffer.from('["a"]').toString("base64url"),
    Buffer.from('["\\u0000","00000000-0000-0000-0000-000000000000"]').toString("base64url"),
  ])("refuse the cursor %s", async (cursor) => {
    expect(await outcome(admin().listOrganizations({ page: { cursor } }))).toBe("validation_failed cursor");
  });
});
