import { fromBinary } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { sql } from "@muster/db";
import { systemCaller, uuidv7 } from "@muster/kit";
import { AuditEventSchema } from "@muster/proto/muster/events/v1/audit_pb";
import { PlatformEventSchema } from "@muster/proto/muster/events/v1/platform_pb";
import { DeviceService } from "@muster/proto/muster/tenancy/v1/device_pb";
import { callers, outcome } from "@muster/testing";
import { type ReceivedHeartbeat, recordHeartbeats } from "../commands/record-heartbeats.ts";
import { lookOnce } from "../jobs/presence-watch.ts";
import { type Fleet, permissions, startFleet } from "../testing/fleet.ts";

let fleet: Fleet;
const system = { caller: systemCaller("tenancy") };
const intervalSeconds = 60;
beforeAll(async () => {
  fleet = await startFleet();
  await watching();
});
afterAll(async () => {
  await fleet?.stop();
});

const db = () => fleet.database.db;
const adminOf = (partnerId: string) =>
  fleet.port.client(DeviceService, callers.partnerAdmin(partnerId, { permissions }));
const beat = (deviceId: string, orgId: string, change: Partial<ReceivedHeartbeat> = {}): ReceivedHeartbeat => ({
  deviceId,
  orgId,
  agentVersion: "1.0.0",
  watchdogVersion: null,
  helperVersion: null,
  hostname: null,
  os: null,
  arch: null,
  libc: null,
  updateEnded: false,
  wantedFacts: "any",
  reportedJson: null,
  clientAddress: "192.0.2.1",
  meta: { requestId: uuidv7(), clientAddress: "192.0.2.1", userAgent: "agent/1.0.0", traceparent: null },
  ...change,
});
const record = async (...heartbeats: ReceivedHeartbeat[]) =>
  (await recordHeartbeats(db(), heartbeats, intervalSeconds)).map((result) => result?.status ?? null);
const age = (ids: readonly string[], seconds: number) =>
  db().tx(system, (tx) =>
    tx.execute(sql`
      UPDATE devices SET last_seen_at = last_seen_at - make_interval(secs => ${seconds}),
                         offline_check_at = offline_check_at - make_interval(secs => ${seconds})
      WHERE id = ANY (${[...ids]}::uuid[])`),
  );
/** Simulates a watch that has been running for a long time. */
async function watching(): Promise<void> {
  await db().tx(system, (tx) =>
    tx.execute(sql`UPDATE presence_watch SET looked_at = clock_timestamp(), patient_until = '-infinity'`),
  );
}
/** Devices of an organization whose check has been due for some seconds. */
async function silent(orgId: string, count: number, dueSeconds: number): Promise<void> {
  const ids = Array.from({ length: count }, () => uuidv7());
  await db().tx(system, (tx) =>
    tx.execute(sql`
      INSERT INTO devices (id, org_id, partner_id, hostname, os, arch, agent_version, status, last_seen_at, offline_check_at,
                           created_at, updated_at)
      SELECT given.id, o.id, o.partner_id, 'H', 'linux', 'amd64', '1', 'online', now() - interval '181 s',
             now() - make_interval(secs => ${dueSeconds}), now(), now()
      FROM unnest(${ids}::uuid[]) AS given (id), organizations o WHERE o.id = ${orgId}`),
  );
}
const look = async () => {
  await watching();
  return lookOnce({ db: db(), heartbeatIntervalSeconds: intervalSeconds });
};
async function typesOf(deviceId: string): Promise<string[]> {
  const rows = await db().read<{ body: Buffer }>(
    system,
    sql`SELECT body FROM outbox WHERE subject LIKE 'events.%' ORDER BY id`,
  );
  const events = rows.map(({ body }) => fromBinary(PlatformEventSchema, body));
  return events.filter(({ dataJson }) => JSON.parse(dataJson).deviceId === deviceId).map(({ type }) => type);
}
async function auditsOf(deviceId: string) {
  const rows = await db().read<{ body: Buffer }>(
    system,
    sql`SELECT body FROM outbox WHERE subject LIKE 'audit.%' ORDER BY id`,
  );
  const events = rows.map(({ body }) => fromBinary(AuditEventSchema, body));
  return events.filter(({ resourceId, action }) => resourceId === deviceId && action.startsWith("agent."));
}
async function stateOf(id: string) {
  const [row] = await db().read<{
    status: string;
    version: number;
    seen: Date | null;
    ip: string | null;
    reported: unknown;
  }>(
    system,
    sql`SELECT status, version, last_seen_at AS seen, host(last_ip_address) AS ip, reported FROM devices WHERE id = ${id}`,
  );
  return row;
}

describe("a heartbeat", () => {
  it("brings a device online with one event, and later ones only record the time", async () => {
    const { orgId } = await fleet.tenant();
    const id = await fleet.device(orgId);
    expect(await record(beat(id, orgId))).toEqual(["online"]);
    const first = await stateOf(id);
    expect(first).toMatchObject({ status: "online", version: 2, ip: "192.0.2.1" });
    await age([id], 30);
    expect(await record(beat(id, orgId), beat(id, orgId))).toEqual(["online", "online"]);
    const second = await stateOf(id);
    expect(second).toMatchObject({ status: "online", version: 2 });
    expect(second?.seen?.getTime()).toBeGreaterThanOrEqual(first?.seen?.getTime() ?? 0);
    expect(await typesOf(id)).toEqual(["device.enrolled", "device.online"]);
  });

  it("with a new version emits an event", async () => {
    const { orgId } = await fleet.tenant();
    const id = await fleet.device(orgId);
    await record(beat(id, orgId));
    await record(beat(id, orgId, { agentVersion: "1.1.0", watchdogVersion: "2.0.0" }));
    await record(beat(id, orgId, { agentVersion: "1.1.0" }));
    expect(await typesOf(id)).toEqual(["device.enrolled", "device.online", "device.updated"]);
    const { events } = await fleet.messagesOf(id);
    expect(events.map(([, { version }]) => version)).toEqual([1n, 2n, 3n]);
  });

  it("from another address is audited, but not from another spelling of the same address", async () => {
    const { orgId } = await fleet.tenant();
    const id = await fleet.device(orgId);
    await record(beat(id, orgId));
    await record(beat(id, orgId, { clientAddress: "192.0.2.1" }));
    expect(await auditsOf(id)).toEqual([]);
    await record(beat(id, orgId, { clientAddress: "2001:db8::1" }));
    await record(beat(id, orgId, { clientAddress: "2001:0db8:0:0::1" }));
    await record(beat(id, orgId, { clientAddress: null }));
    const [audit, ...others] = await auditsOf(id);
    expect(others).toEqual([]);
    expect(audit).toMatchObject({ action: "agent.source.ip.changed", actorType: "agent", actorId: id, chainId: orgId });
    expect(JSON.parse(audit?.detailsJson ?? "").changes).toEqual({
      before: { lastIpAddress: "192.0.2.1" },
      after: { lastIpAddress: "2001:db8::1" },
    });
    expect(await typesOf(id)).toEqual(["device.enrolled", "device.online"]);
  });

  it("keeps the reported facts until the agent reports others", async () => {
    const { orgId } = await fleet.tenant();
    const id = await fleet.device(orgId);
    await record(beat(id, orgId, { reportedJson: '{"metrics":{"cpu":1}}' }));
    await record(beat(id, orgId));
    expect((await stateOf(id))?.reported).toEqual({ metrics: { cpu: 1 } });
    await record(beat(id, orgId, { reportedJson: '{"metrics":{"cpu":2}}' }));
    expect((await stateOf(id))?.reported).toEqual({ metrics: { cpu: 2 } });
  });

  it("leaves quarantine and decommission unchanged, and ignores devices of other organizations", async () => {
    const { orgId, partnerId } = await fleet.tenant();
    const [, clone] = [
      await fleet.device(orgId, { hardwareId: "hw" }),
      await fleet.device(orgId, { hardwareId: "hw" }),
    ];
    const gone = await fleet.device(orgId);
    await adminOf(partnerId).decommissionDevice({ id: gone });
    const other = uuidv7();
    const answers = await record(beat(clone, orgId), beat(gone, orgId), beat(other, orgId), beat(clone, uuidv7()));
    // The later of two from one device counts: it names an organization that the device is not of.
    expect(answers).toEqual([null, "decommissioned", null, null]);
    expect(await record(beat(clone, orgId))).toEqual(["quarantined"]);
    expect((await stateOf(clone))?.seen).not.toBeNull();
    expect((await stateOf(gone))?.seen).toBeNull();
  });

  it("in batches of 500, in parallel over the same devices, counts for each device", async () => {
    const { orgId } = await fleet.tenant();
    const ids = await Promise.all(Array.from({ length: 40 }, () => fleet.device(orgId)));
    // As the gateway repeats the heartbeats of devices that another batch holds.
    const recordAll = async (heartbeats: ReceivedHeartbeat[]): Promise<(string | null)[]> => {
      const statuses = await record(...heartbeats);
      const locked = heartbeats.filter((_, at) => statuses[at] === "locked");
      const others = statuses.filter((status) => status !== "locked");
      return locked.length === 0 ? others : [...others, ...(await recordAll(locked))];
    };
    const batches = Array.from({ length: 8 }, (_, i) =>
      recordAll((i % 2 ? [...ids].reverse() : ids).map((id) => beat(id, orgId, { agentVersion: `1.0.${i}` }))),
    );
    expect((await Promise.all(batches)).flat()).toEqual(Array.from({ length: 320 }, () => "online"));
    for (const id of ids.slice(0, 5))
      expect((await typesOf(id)).filter((type) => type === "device.online")).toHaveLength(1);
  });
});

describe("a device that misses three heartbeats", () => {
  it("is offline with one event, and online again with the next heartbeat", async () => {
    const { orgId } = await fleet.tenant();
    const [silent, lively] = [await fleet.device(orgId), await fleet.device(orgId)];
    await record(beat(silent, orgId), beat(lively, orgId));
    await age([silent, lively], 179);
    expect(await look()).toBe(0);
    await record(beat(lively, orgId));
    await age([silent, lively], 2);
    expect(await look()).toBe(1);
    expect(await look()).toBe(0);
    expect([(await stateOf(silent))?.status, (await stateOf(lively))?.status]).toEqual(["offline", "online"]);
    expect(await typesOf(silent)).toEqual(["device.enrolled", "device.online", "device.offline"]);
    await record(beat(silent, orgId));
    expect(await typesOf(silent)).toEqual(["device.enrolled", "device.online", "device.offline", "device.online"]);
    // Its time was moved on when it was looked at.
    await age([lively], 180);
    expect(await look()).toBe(1);
  });

  it("is one of 2,500 found together, with one event each for any number of replicas", async () => {
    const { orgId } = await fleet.tenant();
    await silent(orgId, 2_500, 1);
    await watching();
    const found = await Promise.all(
      [1, 2].map(() => lookOnce({ db: db(), heartbeatIntervalSeconds: intervalSeconds })),
    );
    expect(found.reduce((a, b) => a + b, 0)).toBe(2_500);
    const [row] = await db().read<{ n: number; reported: number }>(
      system,
      sql`SELECT (SELECT count(*) FROM devices WHERE org_id = ${orgId} AND status = 'offline') AS n,
                 (SELECT count(DISTINCT msg_id) FROM outbox WHERE subject = ${`events.tenancy.${orgId}.device.offline`}) AS reported`,
    );
    expect(row).toEqual({ n: 2_500, reported: 2_500 });
  });

  it("waits for 1,000 devices of each organization that lost more before", async () => {
    for (const organizations of [1, 2]) {
      const partner = await fleet.tenant();
      const crowd =
        organizations === 1 ? [partner.orgId] : [partner.orgId, await fleet.organization(partner.partnerId)];
      for (const orgId of crowd) await silent(orgId, 3_500 / organizations, 60);
      const { orgId } = await fleet.tenant();
      await silent(orgId, 1, 1);
      expect(await look()).toBe(3_501);
      const [row] = await db().read<{ before: number }>(
        system,
        sql`SELECT count(*) AS before FROM outbox
            WHERE subject = ANY (${crowd.map((id) => `events.tenancy.${id}.device.offline`)}::text[])
              AND id < (SELECT id FROM outbox WHERE subject = ${`events.tenancy.${orgId}.device.offline`})`,
      );
      expect(row?.before).toBe(1_000 * organizations);
    }
  });

  it("costs no write while no device can go offline", async () => {
    await db().tx(system, (tx) =>
      tx.execute(sql`UPDATE devices SET status = 'offline' WHERE status IN ('online', 'updating')`),
    );
    await watching();
    const lookedAt = () => db().read(system, sql`SELECT looked_at FROM presence_watch`);
    const before = await lookedAt();
    expect(await lookOnce({ db: db(), heartbeatIntervalSeconds: intervalSeconds })).toBe(0);
    expect(await lookedAt()).toEqual(before);
  });

  it("gets extra time after a pause of the watch", async () => {
    const { orgId } = await fleet.tenant();
    const id = await fleet.device(orgId);
    await record(beat(id, orgId));
    await age([id], 600);
    await db().tx(system, (tx) => tx.execute(sql`UPDATE presence_watch SET looked_at = now() - interval '10 minutes'`));
    const deps = { db: db(), heartbeatIntervalSeconds: intervalSeconds };
    expect(await lookOnce(deps)).toBe(0);
    expect(await lookOnce(deps)).toBe(0);
    expect(await look()).toBe(1);
  });
});

describe("a rolled back enrollment", () => {
  const discard = (id: string) => fleet.port.client(DeviceService, callers.service("identity")).discardDevice({ id });

  it("leaves no device in use, whether the device was created before or arrives late", async () => {
    const { orgId } = await fleet.tenant({ organization: 1 });
    const made = await fleet.device(orgId);
    for (let i = 0; i < 2; i++) await discard(made);
    expect((await stateOf(made))?.status).toBe("decommissioned");
    const late = uuidv7();
    await discard(late);
    expect(await outcome(fleet.createDevice(orgId, { id: late }))).toBe("device_decommissioned");
    expect(await outcome(fleet.createDevice(orgId, { id: made }))).toBe("device_decommissioned");
    expect(await outcome(fleet.createDevice(orgId))).toBe("ok");
    expect(await typesOf(made)).toEqual(["device.enrolled", "device.decommissioned"]);
  });

  it("and a concurrent creation have exactly one winner", async () => {
    const { orgId } = await fleet.tenant();
    for (let i = 0; i < 10; i++) {
      const id = uuidv7();
      await Promise.all([outcome(fleet.createDevice(orgId, { id })), discard(id)]);
      expect(["decommissioned", undefined]).toContain((await stateOf(id))?.status);
    }
  });
});

describe("a quarantined device", () => {
  it("shows the reason, and is approved beside the other device or as its replacement", async () => {
    const { orgId, partnerId } = await fleet.tenant();
    const first = await fleet.device(orgId, { hardwareId: "board" });
    const [second, third] = [
      await fleet.device(orgId, { hardwareId: "board" }),
      await fleet.device(orgId, { hardwareId: "board" }),
    ];
    const admin = adminOf(partnerId);
    const before = (await admin.getDevice({ id: second })).device;
    expect(before?.quarantineReason).toBe(`Enrolled with the hardware id of device ${first}`);
    const approved = (await admin.approveDevice({ id: second })).device;
    expect(approved).toMatchObject({ status: "offline", quarantineReason: "", hardwareId: "board" });
    expect((await admin.approveDevice({ id: second })).device?.status).toBe("offline");
    await admin.approveDevice({ id: third, replace: true });
    expect((await stateOf(first))?.status).toBe("decommissioned");
    expect((await stateOf(second))?.status).toBe("offline");
    expect(await record(beat(third, orgId))).toEqual(["online"]);
    expect((await fleet.createDevice(orgId, { hardwareId: "board" })).device?.status).toBe("quarantined");
    expect(await outcome(admin.approveDevice({ id: first }))).toBe("device_decommissioned");
    const { audits } = await fleet.messagesOf(second);
    expect(audits.map(({ action }) => action)).toEqual(["device.create", "device.update"]);
  });

  it("is one of many: of concurrent approvals one gets the hardware id", async () => {
    const { orgId, partnerId } = await fleet.tenant();
    const first = await fleet.device(orgId, { hardwareId: "many" });
    const clones = await Promise.all(Array.from({ length: 6 }, () => fleet.device(orgId, { hardwareId: "many" })));
    await adminOf(partnerId).decommissionDevice({ id: first });
    const approved = await Promise.all(clones.map((id) => adminOf(partnerId).approveDevice({ id })));
    expect(approved.map(({ device }) => device?.status)).toEqual(clones.map(() => "offline"));
    const [row] = await db().read<{ owners: number }>(
      system,
      sql`SELECT count(*) AS owners FROM devices WHERE org_id = ${orgId} AND NOT hardware_shared AND status = 'offline'`,
    );
    expect(row?.owners).toBe(1);
  });

  it("is approved only by a user who may change it, and delete the one it replaces", async () => {
    const { orgId, partnerId } = await fleet.tenant();
    await fleet.device(orgId, { hardwareId: "x" });
    const id = await fleet.device(orgId, { hardwareId: "x" });
    const as = (held: string[]) =>
      fleet.port
        .client(DeviceService, callers.partnerAdmin(partnerId, { permissions: held }))
        .approveDevice({ id, replace: true });
    expect(await outcome(as(["devices:read"]))).toBe("permission_denied");
    expect(await outcome(as(["devices:write"]))).toBe("permission_denied");
    const other = await fleet.tenant();
    expect(await outcome(adminOf(other.partnerId).approveDevice({ id }))).toBe("device_not_found");
    expect((await stateOf(id))?.status).toBe("quarantined");
  });
});
