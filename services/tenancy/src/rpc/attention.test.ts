import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Caller, uuidv7 } from "@muster/kit";
import { AttentionService } from "@muster/proto/muster/common/v1/attention_pb";
import { register } from "@muster/rpc";
import { attentionService } from "@muster/service";
import { callers, outcome, type TestPort, testPort } from "@muster/testing";
import { type Fleet, permissions, startFleet } from "../testing/fleet.ts";
import { quarantinedDeviceSource } from "./attention.ts";

let fleet: Fleet;
let port: TestPort;
beforeAll(async () => {
  fleet = await startFleet();
  const service = attentionService(fleet.database.db, [quarantinedDeviceSource]);
  port = await testPort("tenancy", [register(AttentionService, service)]);
});
afterAll(async () => {
  await port?.close();
  await fleet?.stop();
});

const list = async (caller: Caller, orgId = "") =>
  (await port.client(AttentionService, caller).listAttention({ orgId })).items;
const admin = (partnerId: string, orgId: string, siteIds: string[] | null = null) =>
  callers.orgAdmin(partnerId, orgId, { permissions, siteIds });

/** A device with the hardware id of another one: it is quarantined. */
async function quarantined(orgId: string, options: { siteId?: string; hostname?: string } = {}): Promise<string> {
  const hardwareId = uuidv7();
  await fleet.device(orgId, { hardwareId });
  return fleet.device(orgId, { hardwareId, ...options });
}

describe("devices that wait for a decision", () => {
  it("are one item: the device alone, or their number since the oldest", async () => {
    const { partnerId, orgId } = await fleet.tenant();
    const by = admin(partnerId, orgId);
    expect(await list(by)).toEqual([]);
    const id = await quarantined(orgId, { hostname: "web-1" });
    const [first] = await list(by);
    expect(first).toMatchObject({ kind: "device", recordType: "device", recordId: id, recordName: "web-1", count: 1 });
    await quarantined(orgId);
    const [both, ...others] = await list(by);
    expect(others).toEqual([]);
    expect(both).toMatchObject({ recordId: "", orgId: "", count: 2, since: first?.since });
    expect(both?.sentence).toMatch(/^2 devices have the hardware id/);
  });

  it("are those of the caller's organizations and sites, and of the organization that is asked for", async () => {
    const { partnerId, orgId, siteId } = await fleet.tenant();
    const otherOrg = await fleet.organization(partnerId);
    const [here, there] = [await quarantined(orgId, { siteId }), await quarantined(otherOrg)];
    const partner = callers.partnerAdmin(partnerId, { permissions });
    expect(await list(partner)).toMatchObject([{ count: 2 }]);
    expect(await list(partner, orgId)).toMatchObject([{ recordId: here }]);
    expect(await list(partner, otherOrg)).toMatchObject([{ recordId: there }]);
    expect(
      await list(callers.partnerAdmin(partnerId, { permissions, orgAccess: { mode: "list", orgIds: [orgId] } })),
    ).toMatchObject([{ recordId: here }]);
    expect(await list(admin(partnerId, orgId, [siteId]))).toMatchObject([{ recordId: here }]);
    expect(await list(admin(partnerId, otherOrg, [siteId]))).toEqual([]);
  });

  it("are refused as the list of devices is", async () => {
    const { partnerId, orgId } = await fleet.tenant();
    const other = await fleet.tenant();
    const answer = (caller: Caller, orgIdOf = "") =>
      outcome(port.client(AttentionService, caller).listAttention({ orgId: orgIdOf }));
    expect(await answer(admin(partnerId, orgId), other.orgId)).toBe("organization_not_found");
    expect(await answer(admin(partnerId, orgId), "org")).toBe("validation_failed orgId");
    expect(await answer(callers.orgAdmin(partnerId, orgId, { permissions: [] }))).toBe("permission_denied");
  });
});
