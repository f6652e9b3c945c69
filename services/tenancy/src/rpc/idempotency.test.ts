import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { sql } from "@muster/db";
import { type Caller, uuidv7 } from "@muster/kit";
import { DeviceGroupService } from "@muster/proto/muster/tenancy/v1/device_pb";
import { OrganizationService } from "@muster/proto/muster/tenancy/v1/organization_pb";
import { PartnerService } from "@muster/proto/muster/tenancy/v1/partner_pb";
import { SiteService } from "@muster/proto/muster/tenancy/v1/site_pb";
import { callers, outcome } from "@muster/testing";
import { type Fleet, permissions, startFleet, type Tenant } from "../testing/fleet.ts";
import { slug } from "../testing/tenancy.ts";

let fleet: Fleet;
let tenant: Tenant;
beforeAll(async () => {
  fleet = await startFleet();
  tenant = await fleet.tenant();
});
afterAll(async () => {
  await fleet?.stop();
});

const root = callers.platformAdmin({ permissions });
const partners = (idempotencyKey: string | null, caller: Caller = root, port = fleet.port) =>
  port.client(PartnerService, caller, { idempotencyKey });
const newPartner = () => ({ name: "Acme", slug: slug() });

async function countOf(table: "partners" | "outbox", slugOrSubject: string): Promise<number> {
  const [row] = await fleet.database.db.read<{ n: number }>(
    { caller: root },
    table === "partners"
      ? sql`SELECT count(*)::int AS n FROM partners WHERE slug = ${slugOrSubject}`
      : sql`SELECT count(*)::int AS n FROM outbox WHERE msg_id LIKE ${`%${slugOrSubject}%`}`,
  );
  return row?.n ?? 0;
}

const rowsOf = (caller: Caller) =>
  fleet.database.db.read<{ key: string; whole: boolean }>(
    { caller },
    sql`SELECT key, reply IS NOT NULL AS whole FROM idempotency WHERE caller = ${caller.actor.id}`,
  );

describe("a repeat under the same Idempotency-Key", () => {
  it("is answered with the stored reply and changes nothing", async () => {
    const key = uuidv7();
    const wanted = newPartner();
    const first = await partners(key).createPartner(wanted);
    await partners(null).updatePartner({
      id: first.partner?.id as string,
      updateMask: { paths: ["name"] },
      partner: { name: "Renamed since" },
    });
    expect(await partners(key).createPartner(wanted)).toEqual(first);
    expect(await countOf("partners", wanted.slug)).toBe(1);
    expect(await countOf("outbox", `partner-${first.partner?.id}-`)).toBe(2);
  });

  it("runs once when 20 arrive concurrently at two processes, and all get the same reply", async () => {
    const key = uuidv7();
    const wanted = newPartner();
    const calls = Array.from({ length: 20 }, (_, i) => partners(key, root, fleet.ports[i % 2]).createPartner(wanted));
    const replies = await Promise.all(calls);
    for (const reply of replies) expect(reply).toEqual(replies[0]);
    expect(await countOf("partners", wanted.slug)).toBe(1);
    expect(await countOf("outbox", `partner-${replies[0]?.partner?.id}-`)).toBe(1);
  });

  it("is a conflict when the request differs, and does not change the stored reply", async () => {
    const key = uuidv7();
    const [wanted, other] = [newPartner(), newPartner()];
    const first = await partners(key).createPartner(wanted);
    expect(await outcome(partners(key).createPartner(other))).toBe("idempotency_conflict");
    expect(await countOf("partners", other.slug)).toBe(0);
    expect(await partners(key).createPartner(wanted)).toEqual(first);
  });

  it("runs when the first was refused: refusals are not stored", async () => {
    const key = uuidv7();
    const taken = newPartner();
    const { partner } = await partners(null).createPartner(taken);
    expect(await outcome(partners(key).createPartner(taken))).toBe("slug_taken");
    await partners(null).deletePartner({ id: partner?.id as string });
    expect((await partners(key).createPartner(taken)).partner?.id).not.toBe(partner?.id);
  });

  it("runs when another caller or another operation has the key", async () => {
    const key = uuidv7();
    const second = callers.platformAdmin({ permissions });
    const ids = [
      (await partners(key).createPartner(newPartner())).partner?.id,
      (await partners(key, second).createPartner(newPartner())).partner?.id,
    ];
    const partnerId = ids[0] as string;
    const organizations = fleet.port.client(OrganizationService, root, { idempotencyKey: key });
    const { organization } = await organizations.createOrganization({ partnerId, name: "O", slug: slug() });
    expect(new Set([...ids, organization?.id]).size).toBe(3);
  });

  it("is still subject to the caller's rights", async () => {
    const key = uuidv7();
    const wanted = newPartner();
    await partners(key).createPartner(wanted);
    expect(await outcome(partners(key, { ...root, permissions: [] }).createPartner(wanted))).toBe("permission_denied");
  });

  it("runs again 24 hours later, as a new request", async () => {
    const caller = callers.platformAdmin({ permissions });
    const key = uuidv7();
    await partners(key, caller).createPartner(newPartner());
    const later = newPartner();
    const age = (hours: number) =>
      fleet.database.db.tx({ caller }, (tx) =>
        tx.execute(sql`UPDATE idempotency SET created_at = now() - ${hours} * interval '1 hour' WHERE key = ${key}`),
      );
    await age(23.9);
    expect(await outcome(partners(key, caller).createPartner(later))).toBe("idempotency_conflict");
    await age(24.1);
    const calls = Array.from({ length: 5 }, () => partners(key, caller).createPartner(later));
    const replies = await Promise.all(calls);
    for (const reply of replies) expect(reply).toEqual(replies[0]);
    expect(await countOf("partners", later.slug)).toBe(1);
    expect(await rowsOf(caller)).toEqual([{ key, whole: true }]);
  });

  it("works for organizations, sites, device groups and their members", async () => {
    const key = uuidv7();
    const { partnerId, orgId } = tenant;
    const device = await fleet.device(orgId);
    const on = { idempotencyKey: key };
    const organizations = fleet.port.client(OrganizationService, root, on);
    const sites = fleet.port.client(SiteService, root, on);
    const groups = fleet.port.client(DeviceGroupService, root, on);
    const organization = { partnerId, name: "O", slug: slug(), settingsJson: '{"a":1}' };
    const group = { orgId, name: "G" };
    const twice = async <T>(call: () => Promise<T>): Promise<T> => {
      const first = await call();
      expect(await call()).toEqual(first);
      return first;
    };
    await twice(() => organizations.createOrganization(organization));
    await twice(() => sites.createSite({ orgId, name: "S" }));
    const groupId = (await twice(() => groups.createDeviceGroup(group))).group?.id as string;
    const { added } = await twice(() => groups.addDevices({ groupId, deviceIds: [device] }));
    expect(added).toBe(1);
    const conflicts = [
      organizations.createOrganization({ ...organization, settingsJson: '{"a":2}' }),
      sites.createSite({ orgId, name: "T" }),
      groups.createDeviceGroup({ ...group, name: "H" }),
      groups.addDevices({ groupId, deviceIds: [device, uuidv7()] }),
    ];
    expect(await Promise.all(conflicts.map(outcome))).toEqual(Array(4).fill("idempotency_conflict"));
  });
});

describe("an Idempotency-Key", () => {
  it.each(["", " ", "a b", "x".repeat(256), "é", "a\tb"])("is refused when it is %j", async (key) => {
    const wanted = newPartner();
    expect(await outcome(partners(key).createPartner(wanted))).toBe("validation_failed Idempotency-Key");
    expect(await countOf("partners", wanted.slug)).toBe(0);
  });

  it("may be 255 characters of any visible ASCII character", async () => {
    const key = "!~'\"\\;%_-".padEnd(255, "z");
    const wanted = newPartner();
    expect(await partners(key).createPartner(wanted)).toEqual(await partners(key).createPartner(wanted));
  });

  it("is refused without a caller, and separate for each caller", async () => {
    const caller = callers.platformAdmin({ permissions });
    await partners("mine", caller).createPartner(newPartner());
    const seen = async (who: Caller | null) => {
      const rows = await fleet.database.db.read(
        { caller: who },
        sql`SELECT FROM idempotency WHERE caller = ${caller.actor.id}`,
      );
      return rows.length;
    };
    expect([await seen(caller), await seen(root), await seen(callers.service("tenancy")), await seen(null)]).toEqual([
      1, 0, 0, 0,
    ]);
  });
});
