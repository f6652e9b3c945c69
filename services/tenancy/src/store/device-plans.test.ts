import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { sql, type Tx } from "@muster/db";
import { type Caller, systemCaller } from "@muster/kit";
import { asOwner, callers, contextOf, explained, type Scan } from "@muster/testing";
import { type Fleet, permissions, startFleet, type Tenant } from "../testing/fleet.ts";
import { type Audience, countInAudiences, unknownIds } from "./audience.ts";
import { countByStatus, type DeviceFilter, devicesOfFilter, listDevices } from "./device-list.ts";
import { quarantinedDevices } from "./quarantined-devices.ts";

const devices = 20_000;
const owners = 40;
let fleet: Fleet;
const tenants: Tenant[] = [];
beforeAll(async () => {
  fleet = await startFleet();
  for (let at = 0; at < owners; at++) tenants.push(await fleet.tenant());
  await asOwner(fleet.database, async (owner) => {
    await owner.query(
      `INSERT INTO devices (id, org_id, partner_id, hostname, os, arch, agent_version, status, hardware_id, serial_number,
                            last_seen_at, last_ip_address, labels, update_state, created_at, updated_at)
       SELECT gen_random_uuid(), ($1::uuid[])[1 + n % ${owners}], ($2::uuid[])[1 + n % ${owners}], 'host-' || n,
              (ARRAY['windows', 'linux'])[1 + n % 2], CASE WHEN n % 1000 = 0 THEN '386' ELSE 'amd64' END, '1.' || n % 7 || '.0',
              CASE WHEN n % 500 = 0 THEN 'quarantined' ELSE 'online' END, 'hardware-' || n, 'SN-' || n, now(),
              '10.0.0.0'::inet + n, jsonb_build_object('env', CASE WHEN n % 100 = 0 THEN 'test' ELSE 'live' END),
              CASE WHEN n % 50 = 0 THEN 'ahead' ELSE 'current' END, now() - n * interval '1 second', now()
       FROM generate_series(1, ${devices}) n`,
      [tenants.map(({ orgId }) => orgId), tenants.map(({ partnerId }) => partnerId)],
    );
    await owner.query("ANALYZE devices");
  });
}, 120_000);
afterAll(() => fleet?.stop());

const everything: DeviceFilter = {
  ...{ orgId: "", siteId: "", groupId: "", statuses: [], os: "", arch: "", agentVersionRange: "", updateState: "" },
  ...{
    hardwareId: "",
    serialNumber: "",
    address: "",
    agentVersion: "",
    label: null,
    seenAfter: null,
    seenBefore: null,
  },
  ...{ search: "", enrollmentKeyId: "", sort: null },
};
const filters: Record<string, Partial<DeviceFilter>> = {
  none: {},
  "a range of versions": { agentVersionRange: ">=1.3.0 <1.4.0" },
  "an update state": { updateState: "ahead" },
  "a label": { label: { name: "env", value: "test" } },
  "a system": { os: "linux" },
  "an architecture": { arch: "386" },
  "a hardware id": { hardwareId: "HARDWARE-77" },
  "a serial number": { serialNumber: "sn-77" },
  "an address": { address: "10.0.0.77/32" },
  "a network": { address: "10.0.3.0/24" },
  "a text": { search: "host-77" },
};
const page = { page: 1, limit: 50, cursor: null, skipCount: false };
/** How devices are read: by an index those of the caller's tenant, and no others. */
const ofDevices = (scans: readonly Scan[]) => scans.flatMap(({ table, by }) => (table === "devices" ? [by] : []));
const byIndex = expect.not.arrayContaining(["Seq Scan"]);

const callersOf = ({ partnerId, orgId }: Tenant): Record<string, Caller> => ({
  partner: callers.partnerAdmin(partnerId, { permissions }),
  organization: callers.orgAdmin(partnerId, orgId, { permissions }),
});

describe("devices among those of others", () => {
  const cells = Object.keys(filters).flatMap((name) =>
    ["partner", "organization"].map((scope) => [name, scope] as const),
  );

  it.each(cells)(
    "are listed by %s with an index, for users of a %s, and chosen so for a bulk job",
    async (name, scope) => {
      const caller = callersOf(tenants[0] as Tenant)[scope] ?? systemCaller("tenancy");
      const { db, scans } = explained(fleet.database.db);
      const filter = { ...everything, ...filters[name] };
      await listDevices(db, contextOf(caller), filter, page);
      await db.tx({ caller }, (tx) => devicesOfFilter(tx, caller, filter, 50_001), { readOnly: true });
      expect(ofDevices(scans).length).toBeGreaterThan(1);
      expect(ofDevices(scans)).toEqual(byIndex);
    },
  );

  it("are counted by an index where they need attention, for the platform, too", async () => {
    const { db, scans } = explained(fleet.database.db);
    const all = { platform: callers.platformAdmin({ permissions }), ...callersOf(tenants[0] as Tenant) };
    for (const caller of Object.values(all)) await db.tx({ caller }, (tx) => quarantinedDevices(tx, caller, null));
    expect(ofDevices(scans).length).toBeGreaterThan(2);
    expect(ofDevices(scans)).toEqual(byIndex);
  });

  it("are counted for rings by an index, of a partner, and where all rings name whose they are", async () => {
    const [first, second] = tenants as [Tenant, Tenant];
    const context = contextOf(systemCaller("tenancy"));
    const ring = (of: Partial<Audience>): Audience => {
      const owners = { partnerIds: [], orgIds: [], siteIds: [], groupIds: [] };
      return { ...owners, labels: {}, os: [], arch: [], ...of };
    };
    const named = [
      ring({ orgIds: [first.orgId], labels: { env: "test" } }),
      ring({ partnerIds: [second.partnerId], siteIds: [first.siteId] }),
      ring({ groupIds: [first.orgId], os: ["linux"] }),
    ];
    for (const [rings, partnerId] of [
      [named, null],
      [[...named, ring({ labels: { env: "test" } })], first.partnerId],
    ] as const) {
      const { db, scans } = explained(fleet.database.db);
      const groups = await countInAudiences(db, context, rings, { partnerId });
      expect(groups.length).toBeGreaterThan(0);
      await unknownIds(db, context, rings, { partnerId });
      expect(ofDevices(scans).length).toBeGreaterThan(0);
      expect(ofDevices(scans)).toEqual(byIndex);
    }
    // One that names nobody reads all devices once.
    const { db, scans } = explained(fleet.database.db);
    await countInAudiences(db, context, [...named, ring({ labels: { env: "test" } })], { partnerId: null });
    expect(ofDevices(scans)).toEqual(["Seq Scan"]);
  });
});

describe("devices among many of one organization", () => {
  const [many, failed] = [20_000, 3];
  let tenant: Tenant;
  beforeAll(async () => {
    tenant = await fleet.tenant();
    await asOwner(fleet.database, async (owner) => {
      await owner.query(
        `INSERT INTO devices (id, org_id, partner_id, hostname, os, arch, agent_version, status, hardware_id,
                              last_seen_at, decommissioned_at, update_state, created_at, updated_at)
         SELECT gen_random_uuid(), $1, $2, 'host-' || n, 'linux', 'amd64', '1.0.0',
                CASE WHEN n % 10 = 0 THEN 'decommissioned' ELSE 'online' END, 'hardware-' || n, now(),
                CASE WHEN n % 10 = 0 THEN now() END,
                CASE WHEN n > ${many - failed} THEN 'failed' WHEN n % 2 = 0 THEN 'behind' ELSE 'current' END,
                now() - n * interval '1 second', now()
         FROM generate_series(1, ${many}) n`,
        [tenant.orgId, tenant.partnerId],
      );
      await owner.query("ANALYZE devices");
    });
  }, 60_000);

  it("are counted by status along an index, also once a connection would have kept a plan for any status", async () => {
    const caller = callersOf(tenant).organization as Caller;
    const { db } = fleet.database;
    const whole: number[] = [];
    const scanned = async (tx: Tx) => {
      const [row] = await tx.query<{ n: number }>(
        sql`SELECT seq_scan::int AS n FROM pg_stat_xact_user_tables WHERE relname = 'devices'`,
      );
      return row?.n ?? 0;
    };
    const watched: typeof db = {
      ...db,
      tx: (who, fn, options) =>
        db.tx(
          who,
          async (tx) => {
            const before = await scanned(tx);
            const result = await fn(tx);
            whole.push((await scanned(tx)) - before);
            return result;
          },
          options,
        ),
    };
    for (let n = 0; n < 12; n++) {
      const counts = await countByStatus(watched, contextOf(caller), { orgId: "", siteId: "", groupId: "" });
      expect(counts?.reduce((sum, { count }) => sum + count, 0)).toBe(many);
    }
    expect(whole).toEqual(Array.from({ length: 12 }, () => 0));
  });

  it.each(["failed", "behind"].flatMap((state) => ["partner", "organization"].map((scope) => [state, scope] as const)))(
    "are listed by the update state %s without a look at the others, for users of a %s",
    async (updateState, scope) => {
      const caller = callersOf(tenant)[scope] as Caller;
      const { db, scans } = explained(fleet.database.db);
      const statuses = ["online", "offline", "updating", "quarantined"];
      const filter = { ...everything, updateState, statuses };
      const listed = await listDevices(db, contextOf(caller), filter, { ...page, limit: 2, skipCount: true });
      expect(listed?.rows.length).toBe(2);
      const looked = scans.flatMap(({ table, rows }) => (table === "devices" ? [rows] : []));
      // The ids of one more than the page, those decommissioned between them, and the rows.
      expect(looked.reduce((sum, rows) => sum + rows, 0)).toBeLessThanOrEqual(10);
    },
  );
});
