import { fromBinary } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { sql } from "@muster/db";
import { systemCaller, uuidv7 } from "@muster/kit";
import { PlatformEventSchema } from "@muster/proto/muster/events/v1/platform_pb";
import { DeviceService } from "@muster/proto/muster/tenancy/v1/device_pb";
import { PresenceService } from "@muster/proto/muster/tenancy/v1/presence_pb";
import { register } from "@muster/rpc";
import { callers, outcome, type TestPort, testPort } from "@muster/testing";
import { type ReceivedHeartbeat, recordHeartbeats } from "../commands/record-heartbeats.ts";
import { type Fleet, permissions, startFleet } from "../testing/fleet.ts";
import { presenceService } from "./presence.ts";

let fleet: Fleet;
let presence: TestPort;
beforeAll(async () => {
  fleet = await startFleet();
  const service = presenceService({ db: fleet.database.db, heartbeatIntervalSeconds: 60, metrics: { add: () => {} } });
  presence = await testPort("tenancy", [register(PresenceService, service)]);
});
afterAll(async () => {
  await presence?.close();
  await fleet?.stop();
});

const meta = { requestId: uuidv7(), clientAddress: null, userAgent: null, traceparent: null };
const startMs = Date.UTC(2026, 0, 1);

/** An online device named `web-1`, and its heartbeats so many minutes after the first. */
async function agent() {
  const { orgId } = await fleet.tenant();
  const id = await fleet.device(orgId, { hostname: "web-1" });
  const said = { agentVersion: "1.0.0", watchdogVersion: null, helperVersion: null, os: null, arch: null, libc: null };
  const heartbeat: ReceivedHeartbeat = {
    ...{ deviceId: id, orgId, ...said, hostname: "web-1", updateEnded: false, wantedFacts: "any" as const },
    ...{ reportedJson: null, clientAddress: null, meta },
  };
  const beat = (minutes: number, change: Partial<ReceivedHeartbeat> = {}) =>
    recordHeartbeats(fleet.database.db, [{ ...heartbeat, ...change }], 60, new Date(startMs + minutes * 60_000));
  await beat(0);
  const admin = fleet.port.client(DeviceService, callers.platformAdmin({ permissions }));
  const device = async () => (await admin.getDevice({ id })).device;
  return { id, admin, beat, device };
}

/** Types of the device's platform events, and its audit rows by agents. */
async function announced(id: string) {
  const rows = await fleet.database.db.read<{ body: Buffer }>(
    { caller: systemCaller("tenancy") },
    sql`SELECT body FROM outbox WHERE subject LIKE 'events.%' ORDER BY id`,
  );
  const events = rows.map(({ body }) => fromBinary(PlatformEventSchema, body));
  const types = events.filter(({ dataJson }) => JSON.parse(dataJson).deviceId === id).map(({ type }) => type);
  const { audits } = await fleet.messagesOf(id);
  const rowsOfAgent = audits.filter(({ actorType }) => actorType === "agent");
  return {
    types: types.slice(2),
    audits: rowsOfAgent.map(({ action, actorId, detailsJson }) => ({ action, actorId, ...JSON.parse(detailsJson) })),
  };
}

describe("the facts of a heartbeat", () => {
  it("are in the record, with one event and one audit row of the agent for all of them", async () => {
    const { id, beat, device } = await agent();
    const versions = { agentVersion: "2.0.0", helperVersion: "3.0.0" };
    await beat(1, { hostname: "web-2", os: "windows", arch: "arm64", libc: "musl", ...versions });
    const expected = { hostname: "web-2", os: "windows", arch: "arm64", libc: "musl", ...versions };
    expect(await device()).toMatchObject(expected);
    await beat(2, { hostname: "web-2", agentVersion: "2.0.0" });
    expect(await device()).toMatchObject(expected);
    const machine = { hostname: "web-1", os: "linux", arch: "amd64", libc: null };
    const before = { ...machine, agentVersion: "1.0.0", helperVersion: null };
    const changes = { changedFields: Object.keys(before), changes: { before, after: expected } };
    expect(await announced(id)).toEqual({
      types: ["device.updated"],
      audits: [{ action: "device.update", actorId: id, ...changes }],
    });
  });

  it("are stored at once and announced once an hour when they flap, with the last value in the end", async () => {
    const { id, beat, device } = await agent();
    for (const minutes of [1, 2, 3, 4, 5]) {
      await beat(minutes, { os: minutes % 2 ? "windows" : "darwin" });
      expect(await device()).toMatchObject({ os: minutes % 2 ? "windows" : "darwin" });
    }
    await beat(6, { os: "darwin" });
    await beat(60, { os: "darwin" });
    expect((await announced(id)).types).toEqual(["device.updated"]);
    await beat(61, { os: "darwin" });
    await beat(62, { os: "darwin" });
    const { types, audits } = await announced(id);
    expect(types).toEqual(["device.updated", "device.updated"]);
    expect(audits.map(({ changes }) => changes)).toEqual([
      { before: { os: "linux" }, after: { os: "windows" } },
      { before: { os: "windows" }, after: { os: "darwin" } },
    ]);
  });

  it("do not undo a name that people gave until the machine is renamed", async () => {
    const { id, admin, beat, device } = await agent();
    await admin.updateDevice({ id, updateMask: { paths: ["hostname"] }, device: { hostname: "Reception" } });
    await beat(1);
    expect(await device()).toMatchObject({ hostname: "Reception" });
    await beat(2, { hostname: "web-9" });
    expect(await device()).toMatchObject({ hostname: "web-9" });
  });

  it.each([
    { os: "plan9" },
    { arch: "mips" },
    { libc: "uclibc" },
    { hostname: "a\u202eb" },
    { hostname: "x".repeat(256) },
  ])("are refused when impossible: %j", async (change) => {
    const { orgId } = await fleet.tenant();
    const heartbeats = [{ deviceId: await fleet.device(orgId), orgId, agentVersion: "1.0.0", ...change }];
    const client = presence.client(PresenceService, callers.service("gateway"));
    expect(await outcome(client.recordHeartbeats({ heartbeats }))).toBe("validation_failed heartbeats");
  });
});
