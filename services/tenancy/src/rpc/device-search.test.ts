import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { sql } from "@muster/db";
import { systemCaller } from "@muster/kit";
import { DeviceService, type ListDevicesRequest } from "@muster/proto/muster/tenancy/v1/device_pb";
import { OrganizationService } from "@muster/proto/muster/tenancy/v1/organization_pb";
import { PresenceService } from "@muster/proto/muster/tenancy/v1/presence_pb";
import { register } from "@muster/rpc";
import { callers, outcome, testPort } from "@muster/testing";
import { type Fleet, permissions, startFleet } from "../testing/fleet.ts";
import { presenceService } from "./presence.ts";

let fleet: Fleet;
beforeAll(async () => {
  fleet = await startFleet();
});
afterAll(() => fleet?.stop());

type Filter = Partial<Pick<ListDevicesRequest, "search" | "address" | "updateState" | "agentVersionRange" | "arch">> &
  object;

/** Three devices of two organizations of a partner, named a, b and c. */
async function three() {
  const { partnerId, orgId } = await fleet.tenant();
  const root = callers.platformAdmin({ permissions });
  const wanted = { partnerId, name: "Zoo Berlin", slug: `zoo-${orgId}` };
  const { organization } = await fleet.port.client(OrganizationService, root).createOrganization(wanted);
  const other = organization?.id ?? "";
  const device = (of: string, hostname: string, change: object) => fleet.device(of, { hostname, ...change });
  const ids = {
    a: await device(orgId, "a", { agentVersion: "1.9.0", hardwareId: "HW-a", serialNumber: "SN/17" }),
    b: await device(orgId, "b", { agentVersion: "1.10.0", arch: "arm64" }),
    c: await device(other, "c", { agentVersion: "v2.0.0" }),
  };
  await fleet.database.db.tx({ caller: systemCaller("tenancy") }, async (tx) => {
    await tx.execute(sql`UPDATE devices SET last_ip_address = '192.0.2.7' WHERE id = ${ids.a}::uuid`);
    await tx.execute(sql`UPDATE devices SET last_ip_address = '2001:db8::7' WHERE id = ${ids.b}::uuid`);
  });
  const client = fleet.port.client(DeviceService, callers.partnerAdmin(partnerId, { permissions }));
  const found = async (filter: Filter) => {
    const { devices, page } = await client.listDevices({ ...filter, sort: "hostname" });
    expect(page?.total).toBe(BigInt(devices.length));
    return devices.map(({ hostname }) => hostname).join("");
  };
  return { ids, client, found };
}

describe("a list of devices", () => {
  it("has those that meet each filter", async () => {
    const { found } = await three();
    const expected: [object, string][] = [
      [{ agentVersionRange: ">=1.9.1" }, "bc"],
      [{ agentVersionRange: "<1.10" }, "a"],
      [{ agentVersionRange: "^3.0.0" }, ""],
      [{ agentVersionRange: "*", arch: "arm64" }, "b"],
      [{ arch: "amd64" }, "ac"],
      [{ hardwareId: "hw-A" }, "a"],
      [{ serialNumber: "sn/17" }, "a"],
      [{ serialNumber: "sn/1" }, ""],
      [{ address: "192.0.2.7" }, "a"],
      [{ address: "192.0.2.0/24" }, "a"],
      [{ address: "2001:db8::/32" }, "b"],
      [{ address: "10.0.0.0/8" }, ""],
      [{ search: "SN/" }, "a"],
      [{ search: "2001:DB8" }, "b"],
      [{ search: "zoo" }, "c"],
      [{ search: "C" }, "c"],
      [{ search: "%" }, ""],
    ];
    for (const [filter, hostnames] of expected) expect([filter, await found(filter)]).toEqual([filter, hostnames]);
  });

  it.each([
    ["agentVersionRange", "newest"],
    ["updateState", "late"],
    ["arch", "mips"],
    ["address", "10.0.0.300"],
    ["address", "10.0.0.0/33"],
    ["address", "10.0.0.0/8/8"],
    ["address", "fe80::1%eth0"],
    ["serialNumber", "x".repeat(256)],
  ])("is refused for its %s: %s", async (field, value) => {
    const { client } = await three();
    expect(await outcome(client.listDevices({ [field]: value }))).toBe(`validation_failed ${field}`);
  });

  it("has those of an update state, as gateways reported it last", async () => {
    const { ids, client, found } = await three();
    const service = presenceService({
      db: fleet.database.db,
      heartbeatIntervalSeconds: 60,
      metrics: { add: () => {} },
    });
    const port = await testPort("tenancy", [register(PresenceService, service)]);
    const report = (states: { deviceId: string; state: string }[], by = "gateway") =>
      outcome(port.client(PresenceService, callers.service(by)).recordUpdateStates({ states }));
    const before = (await client.getDevice({ id: ids.a })).device;
    await client.decommissionDevice({ id: ids.c });
    const all = [ids.a, ids.b, ids.c].map((deviceId) => ({ deviceId, state: "behind" }));
    expect(await report(all)).toBe("ok");
    expect(await found({ updateState: "behind" })).toBe("ab");
    expect(await report([{ deviceId: ids.b, state: "current" }])).toBe("ok");
    expect([await found({ updateState: "behind" }), await found({ updateState: "current" })]).toEqual(["a", "b"]);
    // Derived from versions and rollouts: the device itself has not changed.
    expect((await client.getDevice({ id: ids.a })).device).toEqual({ ...before, updateState: "behind" });
    expect(await report([{ deviceId: ids.a, state: "" }])).toBe("ok");
    expect(await found({ updateState: "behind" })).toBe("");
    expect(await report([{ deviceId: ids.a, state: "late" }])).toBe("validation_failed states");
    expect(await report([], "agent-release")).toBe("permission_denied");
    await port.close();
  });
});
