import { fileURLToPath } from "node:url";
import { fromBinary } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { sql } from "@muster/db";
import { systemCaller, uuidv7 } from "@muster/kit";
import { AuditEventSchema } from "@muster/proto/muster/events/v1/audit_pb";
import { PartnerService } from "@muster/proto/muster/tenancy/v1/partner_pb";
import { register } from "@muster/rpc";
import { callers, type TestDatabase, type TestPort, testDatabase, testPort } from "@muster/testing";
import { partnerService } from "./partner.ts";

let database: TestDatabase;
let port: TestPort;

beforeAll(async () => {
  database = await testDatabase({
    service: "tenancy",
    dirs: [{ label: "tenancy", path: fileURLToPath(new URL("../../migrations/", import.meta.url)) }],
  });
  const partners = partnerService({ db: database.db, now: () => new Date() });
  port = await testPort("tenancy", [register(PartnerService, partners)]);
});

afterAll(async () => {
  await port?.close();
  await database?.drop();
});

const admin = () => port.client(PartnerService, callers.platformAdmin());
const slug = () => `p-${uuidv7()}`;
const messageOf = (call: Promise<unknown>) =>
  call.then(
    () => "answered",
    (error: { rawMessage?: string; message: string }) => error.rawMessage ?? error.message,
  );

describe("partners", () => {
  it("creates an active partner with one audit row and one event, in one transaction", async () => {
    const { partner } = await admin().createPartner({ name: "Acme", slug: slug(), maxDevices: 5 });
    expect(partner).toMatchObject({ name: "Acme", status: "active", type: "msp", plan: "free", maxDevices: 5 });
    const rows = await database.db.read<{ subject: string; body: Buffer }>(
      { caller: systemCaller("tenancy") },
      sql`SELECT subject, body FROM outbox WHERE msg_id LIKE ${`${partner?.id}/%`} ORDER BY id`,
    );
    expect(rows.map((r) => r.subject.split(".").slice(0, 2).join("."))).toEqual(["tenancy.partner", "audit.tenancy"]);
    const audit = fromBinary(AuditEventSchema, rows[1]?.body ?? Buffer.alloc(0));
    expect(audit).toMatchObject({ action: "partner.create", chainId: partner?.id, ipAddress: "192.0.2.7" });
    expect(JSON.parse(audit.detailsJson).changes.after).toMatchObject({ name: "Acme", maxDevices: 5 });
  });

  it("lets exactly one of twenty concurrent creations have a slug, and leaves nothing of the others", async () => {
    const wanted = slug();
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => messageOf(admin().createPartner({ name: "Duplicate", slug: wanted }))),
    );
    expect(answers.filter((a) => a === "answered")).toHaveLength(1);
    expect(answers.filter((a) => a === "Slug is already in use")).toHaveLength(19);
    const emitted = await database.db.read<{ n: number }>(
      { caller: systemCaller("tenancy") },
      sql`SELECT count(*) AS n FROM outbox o JOIN partners p ON o.msg_id LIKE p.id || '/%' WHERE p.slug = ${wanted}`,
    );
    expect(emitted[0]?.n).toBe(2);
  });

  it("lists by name with pages that do not repeat or skip, by number and by cursor", async () => {
    for (const name of ["Beta", "Alpha", "Gamma"]) await admin().createPartner({ name, slug: slug() });
    const all = await admin().listPartners({ page: { limit: 100 } });
    const names = all.partners.map((p) => p.name);
    expect(names).toEqual([...names].sort((a, b) => a.localeCompare(b)));
    expect(Number(all.page?.total)).toBe(names.length);
    const walked: string[] = [];
    let cursor = "";
    do {
      const { partners, page } = await admin().listPartners({ page: { limit: 2, cursor, skipCount: true } });
      walked.push(...partners.map((p) => p.id));
      expect(page?.total).toBeUndefined();
      cursor = page?.nextCursor ?? "";
    } while (cursor !== "");
    expect(walked).toEqual(all.partners.map((p) => p.id));
    const second = await admin().listPartners({ page: { page: 2, limit: 2 } });
    expect(second.partners.map((p) => p.id)).toEqual(walked.slice(2, 4));
  });

  it("answers a malformed cursor with a clear error", async () => {
    expect(await messageOf(admin().listPartners({ page: { cursor: "xyz" } }))).toBe("Validation failed");
  });

  it("finds one by id and knows no other", async () => {
    const { partner } = await admin().createPartner({ name: "Found", slug: slug() });
    expect((await admin().getPartner({ id: partner?.id ?? "" })).partner?.name).toBe("Found");
    expect(await messageOf(admin().getPartner({ id: uuidv7() }))).toBe("Partner not found");
    expect(await messageOf(admin().getPartner({ id: "nonsense" }))).toBe("Partner not found");
  });

  it("is for system callers with the permission only", async () => {
    const partnerId = uuidv7();
    for (const caller of [callers.partnerAdmin(partnerId), callers.orgAdmin(partnerId, uuidv7())]) {
      const client = port.client(PartnerService, caller);
      const text = "This operation is not available to your scope";
      expect(await messageOf(client.createPartner({ name: "x", slug: slug() }))).toBe(text);
      expect(await messageOf(client.listPartners({}))).toBe(text);
      expect(await messageOf(client.getPartner({ id: partnerId }))).toBe(text);
    }
    const reader = port.client(PartnerService, callers.platformAdmin({ permissions: ["organizations:read"] }));
    expect(await messageOf(reader.createPartner({ name: "x", slug: slug() }))).toBe("Permission denied");
  });
});
