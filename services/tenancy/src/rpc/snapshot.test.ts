import { createHash, randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import type { TenantChanged } from "@muster/proto/muster/events/v1/tenancy_pb";
import { callers, outcome } from "@muster/testing";
import { startTenancy, type TestTenancy } from "../testing/tenancy.ts";

let tenancy: TestTenancy;
beforeAll(async () => {
  tenancy = await startTenancy();
});
afterAll(async () => {
  await tenancy?.stop();
});

const service = () => tenancy.snapshots(callers.service("gateway"));

async function wholeSnapshot(limit: number): Promise<TenantChanged[]> {
  const tenants: TenantChanged[] = [];
  let cursor = "";
  do {
    const reply = await service().getSnapshot({ cursor, limit });
    expect(reply.tenants.length).toBeLessThanOrEqual(limit);
    tenants.push(...reply.tenants);
    cursor = reply.nextCursor;
  } while (cursor !== "");
  return tenants;
}

describe("the snapshot", () => {
  it("equals the newest event of each tenant, including deleted tenants and excluding sites of those", async () => {
    const admin = callers.platformAdmin();
    const [one, two] = [await tenancy.partner(), await tenancy.partner()];
    const kept = await tenancy.organization(one.id);
    const gone = await tenancy.organization(one.id);
    const site = await tenancy.site(kept);
    const removed = await tenancy.site(kept);
    await tenancy.organizations(admin).deleteOrganization({ id: gone });
    await tenancy.partners(admin).deletePartner({ id: two.id });
    await tenancy.sites(admin).deleteSite({ id: removed });
    const status = { id: kept, updateMask: { paths: ["status"] }, organization: { status: "suspended" } };
    await tenancy.organizations(admin).updateOrganization(status);

    const tenants = await wholeSnapshot(2);
    const newest = async (id: string) => (await tenancy.emitted(id)).flatMap(({ event }) => event ?? []).at(-1);
    const ids = [one.id, two.id, kept, gone, site];
    for (const id of ids) expect(tenants.find((t) => t.id === id)).toEqual(await newest(id));
    expect(tenants).toHaveLength(ids.length);
    expect((await newest(removed))?.deleted).toBe(true);
    const order = tenants.map(({ kind, id }) => `${kind} ${id}`);
    expect(order).toEqual([...order].sort());
    for (const limit of [0, 1, 1_000, 5_000]) {
      expect((await service().getSnapshot({ limit })).tenants).toHaveLength(limit === 1 ? 1 : ids.length);
    }
  });

  it("has the hash that a copy computes from its rows, and another after any change", async () => {
    const orgId = await tenancy.organization((await tenancy.partner()).id);
    const tenants = await wholeSnapshot(1_000);
    const lines = tenants.map((t) => `${t.kind} ${t.id} ${t.version} ${t.status} ${t.deleted ? 1 : 0}\n`);
    const sha256 = createHash("sha256").update(lines.join("")).digest("hex");
    expect(await service().getSnapshotHash({})).toMatchObject({ sha256, count: BigInt(tenants.length) });
    await tenancy.site(orgId);
    const after = await service().getSnapshotHash({});
    expect(after.sha256).not.toBe(sha256);
    expect(after.count).toBe(BigInt(tenants.length + 1));
  });

  it("returns the existing ones of given ids, deleted organizations included and of every kind", async () => {
    const { id: partnerId } = await tenancy.partner();
    const [kept, gone] = [await tenancy.organization(partnerId), await tenancy.organization(partnerId)];
    const [site, removed] = [await tenancy.site(kept), await tenancy.site(kept)];
    await tenancy.organizations(callers.platformAdmin()).deleteOrganization({ id: gone });
    await tenancy.sites(callers.platformAdmin()).deleteSite({ id: removed });
    const ids = [partnerId, kept, gone, site, removed, randomUUID()];
    const copying = tenancy.snapshots(callers.service("identity"));
    const { tenants } = await copying.getTenants({ ids });
    const whole = (await wholeSnapshot(1_000)).filter(({ id }) => ids.includes(id));
    expect(whole).toHaveLength(4);
    expect(new Map(tenants.map((t) => [t.id, t]))).toEqual(new Map(whole.map((t) => [t.id, t])));
    expect(await outcome(copying.getTenants({ ids: ["nonsense"] }))).toBe("validation_failed ids");
    expect(await outcome(copying.getTenants({ ids: Array(1_001).fill(kept) }))).toBe("validation_failed ids");
  });

  it("is for services only", async () => {
    const users = [callers.platformAdmin(), callers.partnerAdmin((await tenancy.partner()).id)];
    for (const caller of users) {
      expect(await outcome(tenancy.snapshots(caller).getSnapshot({}))).toBe("scope_not_allowed");
      expect(await outcome(tenancy.snapshots(caller).getSnapshotHash({}))).toBe("scope_not_allowed");
      expect(await outcome(tenancy.snapshots(caller).getTenants({ ids: [] }))).toBe("scope_not_allowed");
    }
    expect(await outcome(service().getSnapshot({ cursor: "nonsense" }))).toBe("validation_failed cursor");
  });
});
