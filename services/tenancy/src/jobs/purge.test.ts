import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { callers } from "@muster/testing";
import { startTenancy, type TestTenancy } from "../testing/tenancy.ts";
import { purgeOnce } from "./purge.ts";

let tenancy: TestTenancy;
beforeAll(async () => {
  tenancy = await startTenancy();
});
afterAll(() => tenancy?.stop());

const admin = callers.platformAdmin();
const inDays = (days: number) => ({
  db: tenancy.database.db,
  days: 30,
  now: () => new Date(Date.now() + days * 86_400_000),
});
const purgesOf = async (id: string) => {
  const all = await tenancy.emitted(id);
  return {
    events: all
      .filter(({ subject }) => subject.endsWith(".purged"))
      .map(({ subject, event }) => [subject, event?.deleted]),
    audits: all.flatMap(({ audit }) => (audit?.action.endsWith(".purge") ? [audit.action] : [])),
  };
};

describe("a deleted tenant's data", () => {
  it("is announced for purging once, when its time has come, and audited", async () => {
    const partner = await tenancy.partner();
    const org = await tenancy.organization(partner.id);
    await tenancy.organizations(admin).deleteOrganization({ id: org });
    await purgeOnce(inDays(29));
    expect(await purgesOf(org)).toEqual({ events: [], audits: [] });
    await Promise.all([purgeOnce(inDays(31)), purgeOnce(inDays(31))]);
    await purgeOnce(inDays(31));
    expect(await purgesOf(org)).toEqual({
      events: [["tenancy.organization.purged", true]],
      audits: ["organization.purge"],
    });
    const ids = (await tenancy.emitted(org)).map(({ msgId }) => msgId);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it("is announced for a partner as a whole, and never for tenants that are not deleted", async () => {
    const [gone, kept] = [await tenancy.partner(), await tenancy.partner()];
    await tenancy.partners(admin).deletePartner({ id: gone.id });
    await purgeOnce(inDays(365));
    expect((await purgesOf(gone.id)).events).toEqual([["tenancy.partner.purged", true]]);
    expect((await purgesOf(kept.id)).events).toEqual([]);
  });
});
