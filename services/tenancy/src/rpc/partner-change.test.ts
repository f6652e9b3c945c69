import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { uuidv7 } from "@muster/kit";
import { callers, outcome } from "@muster/testing";
import { slug, startTenancy, type TestTenancy } from "../testing/tenancy.ts";

let tenancy: TestTenancy;
beforeAll(async () => {
  tenancy = await startTenancy();
});
afterAll(async () => {
  await tenancy?.stop();
});

const admin = () => tenancy.partners(callers.platformAdmin());
const policy = { permissions: ["organizations:read", "organizations:write", "partner:policy"] };
const own = (partnerId: string) => tenancy.partners(callers.partnerAdmin(partnerId, policy));
const settings = (value: object) => ({ settingsJson: JSON.stringify(value) });
const settingsOf = (partner: { settingsJson: string } | undefined) => JSON.parse(partner?.settingsJson ?? "null");

describe("changing a partner", () => {
  it("writes the masked fields, clears absent ones, and leaves one event and one audit row", async () => {
    const { id } = await tenancy.partner({ maxOrganizations: 7 });
    const { partner } = await admin().updatePartner({
      id,
      updateMask: { paths: ["status", "plan", "max_organizations", "max_devices"] },
      partner: { status: "suspended", plan: "pro", maxDevices: 9, name: "not masked" },
    });
    expect(partner).toMatchObject({ id, name: "Partner", status: "suspended", plan: "pro", maxDevices: 9 });
    expect(partner?.maxOrganizations).toBeUndefined();
    expect((await admin().getPartner({ id })).partner).toEqual(partner);
    const [, , changed, audited, ...more] = await tenancy.emitted(id);
    expect(more).toEqual([]);
    expect(changed).toMatchObject({
      subject: "tenancy.partner.updated",
      msgId: `${id}/partner-${id}-2`,
      event: { kind: "partner", id, version: 2n, partnerId: id, orgId: "", status: "suspended", deleted: false },
    });
    expect(audited?.audit).toMatchObject({
      action: "partner.update",
      chainId: id,
      details: {
        changedFields: ["plan", "status", "maxOrganizations", "maxDevices"],
        changes: {
          before: { plan: "free", status: "active", maxOrganizations: 7, maxDevices: null },
          after: { plan: "pro", status: "suspended", maxOrganizations: null, maxDevices: 9 },
        },
      },
    });
  });

  it("accepts every status, and refuses a slug that another partner has", async () => {
    const { id } = await tenancy.partner();
    const change = (paths: string[], partner: object) => admin().updatePartner({ id, updateMask: { paths }, partner });
    for (const status of ["pending", "suspended", "churned", "active"]) {
      expect((await change(["status"], { status })).partner?.status).toBe(status);
    }
    const taken = slug();
    await admin().createPartner({ name: "Other", slug: taken });
    expect(await outcome(change(["slug"], { slug: taken.toUpperCase() }))).toBe("slug_taken");
  });

  it.each([
    ["no_updates", []],
    ["no_updates", ["created_at", "unknown"]],
  ])("answers %s when the mask is %j", async (code, paths) => {
    const { id } = await tenancy.partner();
    const before = await tenancy.footprint();
    expect(await outcome(admin().updatePartner({ id, updateMask: { paths }, partner: { name: "x" } }))).toBe(code);
    expect(await tenancy.footprint()).toBe(before);
  });

  it("deletes softly: absent from lists and details, slug free again, once only", async () => {
    const wanted = slug();
    const { partner } = await admin().createPartner({ name: "Short-lived", slug: wanted });
    const id = partner?.id ?? "";
    await admin().deletePartner({ id });
    const change = { id, updateMask: { paths: ["name"] }, partner: { name: "x" } };
    expect(await outcome(admin().getPartner({ id }))).toBe("partner_not_found");
    expect(await outcome(admin().updatePartner(change))).toBe("partner_not_found");
    expect(await outcome(admin().deletePartner({ id }))).toBe("partner_not_found");
    expect(await outcome(own(id).getOwnPartner({}))).toBe("partner_not_found");
    const { partners } = await admin().listPartners({ page: { limit: 100 } });
    expect(partners.map((p) => p.id)).not.toContain(id);
    expect(await outcome(admin().createPartner({ name: "Next", slug: wanted }))).toBe("ok");
    const rows = await tenancy.emitted(id);
    expect(rows.map((r) => r.audit?.action ?? r.subject)).toEqual([
      "tenancy.partner.created",
      "partner.create",
      "tenancy.partner.deleted",
      "partner.delete",
    ]);
    expect(rows[2]?.event).toMatchObject({ version: 2n, deleted: true });
  });
});

describe("a partner's own settings", () => {
  it("are merged key by key, dotted keys singly, null removes, unknown keys are kept", async () => {
    const { id } = await tenancy.partner();
    const send = async (value: object) => {
      const request = { updateMask: { paths: ["settings_json"] }, partner: settings(value) };
      return settingsOf((await own(id).updateOwnPartner(request)).partner);
    };
    await send({ timezone: "Europe/Berlin", contact: { name: "Ada", email: "a@example.com" }, theme: { a: 1, b: 2 } });
    expect(await send({ contact: { email: "b@example.com" }, theme: { c: 3 } })).toEqual({
      timezone: "Europe/Berlin",
      contact: { name: "Ada", email: "b@example.com" },
      theme: { c: 3 },
    });
    expect(await send({ timezone: null, contact: { name: null }, organizationOrder: [id] })).toEqual({
      contact: { email: "b@example.com" },
      theme: { c: 3 },
    });
    const audited = (await tenancy.emitted(id)).at(-1)?.audit;
    expect(audited).toMatchObject({
      action: "partner.settings.update",
      details: {
        changedFields: ["settings"],
        changes: { before: { settings: { timezone: "Europe/Berlin" } }, after: { settings: {} } },
      },
    });
  });

  it("are limited to 64 KiB in all", async () => {
    const { id } = await tenancy.partner();
    const send = (value: object) =>
      own(id).updateOwnPartner({ updateMask: { paths: ["settings_json"] }, partner: settings(value) });
    expect(await outcome(send({ a: "x".repeat(40_000) }))).toBe("ok");
    expect(await outcome(send({ b: "x".repeat(40_000) }))).toBe("validation_failed settings");
    expect(settingsOf((await own(id).getOwnPartner({})).partner)).toEqual({ a: "x".repeat(40_000) });
  });

  it("lose no concurrent change", async () => {
    const { id } = await tenancy.partner();
    const keys = Array.from({ length: 20 }, (_, i) => `key${i}`);
    await Promise.all(
      keys.map((key) =>
        own(id).updateOwnPartner({ updateMask: { paths: ["settings_json"] }, partner: settings({ [key]: true }) }),
      ),
    );
    const { partner } = await own(id).getOwnPartner({});
    expect(Object.keys(settingsOf(partner)).sort()).toEqual([...keys].sort());
    const versions = (await tenancy.emitted(id)).flatMap(({ event }) => (event ? [Number(event.version)] : []));
    expect(versions).toEqual(Array.from({ length: 21 }, (_, i) => i + 1));
  });

  it("are the only fields, besides name and billing, that users of the partner can change", async () => {
    const { id } = await tenancy.partner();
    const paths = ["name", "billing_email", "status", "plan", "max_organizations", "slug"];
    const wanted = { name: "Mine", billingEmail: "b@example.com", status: "churned", plan: "unlimited", slug: "mine" };
    const { partner } = await own(id).updateOwnPartner({ updateMask: { paths }, partner: wanted });
    expect(partner).toMatchObject({ name: "Mine", billingEmail: "b@example.com", status: "active", plan: "free" });
    const only = { updateMask: { paths: ["status"] }, partner: { status: "churned" } };
    expect(await outcome(own(id).updateOwnPartner(only))).toBe("no_updates");
  });

  it("require a partner caller with the permission and without a restriction to sites", async () => {
    const { id } = await tenancy.partner();
    const call = (caller: Parameters<typeof tenancy.partners>[0]) =>
      outcome(
        tenancy.partners(caller).updateOwnPartner({ updateMask: { paths: ["name"] }, partner: { name: "Changed" } }),
      );
    expect(await call(callers.platformAdmin(policy))).toBe("scope_not_allowed");
    expect(await call(callers.orgAdmin(id, uuidv7(), policy))).toBe("scope_not_allowed");
    expect(await call(callers.partnerAdmin(id))).toBe("permission_denied");
    expect(await call(callers.partnerAdmin(id, { ...policy, siteIds: [] }))).toBe("site_restricted");
    expect(await call(callers.partnerAdmin(uuidv7(), policy))).toBe("partner_not_found");
    expect((await admin().getPartner({ id })).partner?.name).toBe("Partner");
  });
});

describe("the order of organizations", () => {
  it("drops unknown ids and appends omitted ones in order of registration", async () => {
    const { id } = await tenancy.partner();
    const [a, b, c, d] = [
      await tenancy.organization(id, "A"),
      await tenancy.organization(id, "B"),
      await tenancy.organization(id, "C"),
      await tenancy.organization(id, "D"),
    ];
    const elsewhere = await tenancy.organization((await tenancy.partner()).id);
    await tenancy.organizations(callers.platformAdmin()).deleteOrganization({ id: d });
    const wanted = [c, uuidv7(), d, elsewhere, a, c];
    const { organizationOrder } = await own(id).setOrganizationOrder({ organizationOrder: wanted });
    expect(organizationOrder).toEqual([c, a, b]);
    const { partner } = await own(id).getOwnPartner({});
    expect(settingsOf(partner)).toEqual({ organizationOrder: [c, a, b] });
    const audited = (await tenancy.emitted(id)).at(-1)?.audit;
    expect(audited).toMatchObject({
      action: "partner.settings.update",
      details: { changedFields: ["organizationOrder"], changes: { after: { organizationOrder: [c, a, b] } } },
    });
  });

  it("shows and changes only organizations within the caller's scope", async () => {
    const { id } = await tenancy.partner();
    const [a, b, c] = [await tenancy.organization(id), await tenancy.organization(id), await tenancy.organization(id)];
    await own(id).setOrganizationOrder({ organizationOrder: [c, b, a] });
    const limited = tenancy.partners(callers.partnerWithList(id, [a, b], policy));
    expect(settingsOf((await limited.getOwnPartner({})).partner)).toEqual({ organizationOrder: [b, a] });
    const { organizationOrder } = await limited.setOrganizationOrder({ organizationOrder: [a, c] });
    expect(organizationOrder).toEqual([a, b]);
    expect(settingsOf((await own(id).getOwnPartner({})).partner)).toEqual({ organizationOrder: [a, b, c] });
  });
});
