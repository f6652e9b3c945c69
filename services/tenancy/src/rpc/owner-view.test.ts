import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { sql } from "@muster/db";
import { type Caller, systemCaller } from "@muster/kit";
import { OrganizationService } from "@muster/proto/muster/tenancy/v1/organization_pb";
import { SiteService } from "@muster/proto/muster/tenancy/v1/site_pb";
import { callers, outcome } from "@muster/testing";
import { type Fleet, permissions, startFleet } from "../testing/fleet.ts";

let fleet: Fleet;
let partnerId: string;
/** Organizations of one partner: all online, half offline, a fifth offline, without devices. */
let orgs: { sound: string; half: string; fifth: string; empty: string };
let sites: { down: string; sound: string };
let otherOrgId: string;

/** Devices of an organization or a site, in these states. */
async function devices(orgId: string, states: readonly string[], siteId?: string) {
  for (const status of states) {
    const id = await fleet.device(orgId, siteId ? { siteId } : {});
    const gone = status === "decommissioned";
    await fleet.database.db.tx({ caller: systemCaller("tenancy") }, (tx) =>
      tx.execute(
        sql`UPDATE devices SET status = ${status}, decommissioned_at = CASE WHEN ${gone} THEN now() END WHERE id = ${id}::uuid`,
      ),
    );
  }
}

beforeAll(async () => {
  fleet = await startFleet();
  const tenant = await fleet.tenant();
  partnerId = tenant.partnerId;
  const [half, fifth, empty] = [
    await fleet.organization(partnerId),
    await fleet.organization(partnerId),
    await fleet.organization(partnerId),
  ];
  orgs = { sound: tenant.orgId, half, fifth, empty };
  sites = { down: await fleet.site(fifth), sound: await fleet.site(fifth) };
  await devices(orgs.sound, ["online", "updating", "quarantined", "decommissioned"]);
  await devices(half, ["online", "offline"]);
  await devices(fifth, ["online", "online", "online", "online"], sites.sound);
  await devices(fifth, ["offline"], sites.down);
  otherOrgId = (await fleet.tenant()).orgId;
  await devices(otherOrgId, ["offline"]);
}, 60_000);
afterAll(async () => {
  await fleet?.stop();
});

const partner = (change: object = {}) => callers.partnerAdmin(partnerId, { permissions, ...change });
const organizations = (caller: Caller) => fleet.port.client(OrganizationService, caller);
const siteList = (caller: Caller) => fleet.port.client(SiteService, caller);
const counts = (online: number, offline: number, updating = 0, quarantined = 0) =>
  expect.objectContaining({ online, offline, updating, quarantined });

describe("organizations with the counts of their devices", () => {
  it("have them in a list that asks for them, and in no other", async () => {
    const { organizations: rows } = await organizations(partner()).listOrganizations({ deviceCounts: true });
    const byId = new Map(rows.map(({ id, deviceCounts }) => [id, deviceCounts]));
    expect([orgs.sound, orgs.half, orgs.fifth, orgs.empty].map((id) => byId.get(id))).toEqual([
      counts(1, 0, 1, 1),
      counts(1, 1),
      counts(4, 1),
      counts(0, 0),
    ]);
    const plain = await organizations(partner()).listOrganizations({});
    expect(plain.organizations.map(({ deviceCounts }) => deviceCounts)).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
  });

  it("begin with the largest share of offline devices, over pages", async () => {
    const seen: string[] = [];
    for (let cursor = ""; ; ) {
      const reply = await organizations(partner()).listOrganizations({ sort: "-offline", page: { limit: 1, cursor } });
      expect(reply.page?.total).toBe(4n);
      seen.push(...reply.organizations.map(({ id }) => id));
      cursor = reply.page?.nextCursor ?? "";
      if (cursor === "") break;
    }
    expect(seen).toEqual([orgs.half, orgs.fifth, orgs.sound, orgs.empty]);
  });

  it("count only what the caller sees", async () => {
    const limited = callers.partnerWithList(partnerId, [orgs.fifth], { permissions, siteIds: [sites.sound] });
    const { organizations: rows } = await organizations(limited).listOrganizations({ sort: "-offline" });
    expect(rows.map(({ id, deviceCounts }) => [id, deviceCounts])).toEqual([[orgs.fifth, counts(4, 0)]]);
    expect(rows.map(({ id }) => id)).not.toContain(otherOrgId);
  });

  it("are refused without devices:read, in an unknown order and with a cursor of another one", async () => {
    const reader = partner({ permissions: ["organizations:read"] });
    const listed = async (caller: Caller, request: object) =>
      outcome(organizations(caller).listOrganizations(request as never));
    expect(await listed(reader, { deviceCounts: true })).toBe("permission_denied");
    expect(await listed(reader, { sort: "-offline" })).toBe("permission_denied");
    expect(await listed(reader, {})).toBe("ok");
    expect(await listed(partner(), { sort: "offline" })).toMatch(/^validation_failed/);
    const { page } = await organizations(partner()).listOrganizations({ page: { limit: 1 } });
    const cursor = page?.nextCursor ?? "";
    expect(await listed(partner(), { sort: "-offline", page: { limit: 1, cursor } })).toMatch(/^validation_failed/);
  });
});

describe("sites with the counts of their devices", () => {
  it("begin with those that are offline, of one organization or of all in scope", async () => {
    const ofOne = await siteList(partner()).listSites({ orgId: orgs.fifth, sort: "-offline", deviceCounts: true });
    expect(ofOne.sites.map(({ id, deviceCounts }) => [id, deviceCounts])).toEqual([
      [sites.down, counts(0, 1)],
      [sites.sound, counts(4, 0)],
    ]);
    const ofAll = await siteList(partner()).listSites({ sort: "-offline" });
    expect(ofAll.sites[0]?.id).toBe(sites.down);
    expect(await outcome(siteList(partner()).listSites({ orgId: otherOrgId, sort: "-offline" }))).toBe(
      "organization_access_denied",
    );
  });
});
