import { createHash, randomBytes } from "node:crypto";
import { describe, expect, it } from "@jest/globals";
import { uuidv7 } from "@muster/kit";
import canonicalizeExport from "canonicalize";
import type { Entry } from "./entry.ts";
import { checksumOf, sealChain } from "./seal.ts";

// Its types say ES module, its code is CommonJS: the default export is the function itself.
const canonicalize = canonicalizeExport as unknown as (value: unknown) => string | undefined;

const entry = (change: Partial<Entry> = {}): Entry => ({
  id: "01890000-0000-7000-8000-000000000001",
  chainId: "01890000-0000-7000-8000-00000000000a",
  orgId: "01890000-0000-7000-8000-00000000000a",
  partnerId: "01890000-0000-7000-8000-00000000000b",
  timestamp: new Date("2026-01-02T03:04:05.678Z"),
  actorType: "user",
  actorId: "01890000-0000-7000-8000-00000000000c",
  actorEmail: "ada@example.com",
  actorName: "Ada",
  actorRole: "partner-admin",
  actorDepartment: null,
  sessionId: null,
  action: "site.create",
  resourceType: "site",
  resourceId: "01890000-0000-7000-8000-00000000000d",
  resourceName: "Berlin",
  details: { changes: { before: {}, after: { name: "Berlin" } } },
  ipAddress: "192.0.2.1",
  userAgent: "curl/8",
  result: "success",
  errorMessage: null,
  ...change,
});
const salt = Buffer.alloc(16, 7);

describe("the sealed payload, format 1", () => {
  it("never changes: rows sealed by any version must verify", () => {
    expect(checksumOf(entry(), 1, null, salt)).toBe("f8896c08a4f42701446782b4dd61cd81a1428bea0dcfe5e65ec753be1316db6b");
  });

  it("covers every field, the position and the link", () => {
    const base = checksumOf(entry(), 1, null, salt);
    const other = uuidv7();
    const changes: Partial<Entry>[] = [
      { id: other },
      { chainId: other },
      { orgId: null },
      { partnerId: null },
      { timestamp: new Date("2026-01-02T03:04:05.679Z") },
      { actorType: "system" },
      { actorId: other },
      { actorEmail: "eve@example.com" },
      { actorName: "Eve" },
      { actorRole: null },
      { actorDepartment: "IT" },
      { sessionId: other },
      { action: "site.update" },
      { resourceType: "device" },
      { resourceId: other },
      { resourceName: "Bern" },
      { details: {} },
      { ipAddress: null },
      { userAgent: "curl/9" },
      { result: "denied" },
      { errorMessage: "no" },
    ];
    expect(Object.keys(entry())).toHaveLength(changes.length);
    const sums = changes.map((change) => checksumOf(entry(change), 1, null, salt));
    sums.push(checksumOf(entry(), 2, null, salt), checksumOf(entry(), 1, base, salt));
    sums.push(checksumOf(entry(), 1, null, randomBytes(16)));
    expect(new Set([base, ...sums]).size).toBe(sums.length + 1);
  });

  it("hashes the RFC 8785 text of the whole payload", () => {
    const e = entry({
      resourceName: 'B"\\\u2028😀',
      sessionId: null,
      details: { b: [1.5, { z: 1, a: null }], A: "ü" },
    });
    const personal = canonicalize({
      userAgent: e.userAgent,
      ipAddress: e.ipAddress,
      actorName: e.actorName,
      actorEmail: e.actorEmail,
    });
    const { actorEmail, actorName, ipAddress, userAgent, ...rest } = e;
    const payload = canonicalize({
      ...rest,
      v: 1,
      seq: 7,
      prevChecksum: "before",
      timestamp: e.timestamp.toISOString(),
      personal: createHash("sha256").update(salt).update(`${personal}`).digest("hex"),
    });
    expect(checksumOf(e, 7, "before", salt)).toBe(createHash("sha256").update(`${payload}`).digest("hex"));
  });

  it.each([1, 5_000, 6_000, 40_000])("covers texts of a user of %i characters, each of three bytes", (length) => {
    const e = entry({ userAgent: "€".repeat(length) });
    const { actorEmail, actorName, ipAddress, userAgent, ...rest } = e;
    const personal = canonicalize({ actorEmail, actorName, ipAddress, userAgent });
    const digest = createHash("sha256").update(salt).update(`${personal}`).digest("hex");
    const facts = { v: 1, seq: 7, prevChecksum: "before", timestamp: e.timestamp.toISOString(), personal: digest };
    const payload = canonicalize({ ...rest, ...facts });
    expect(checksumOf(e, 7, "before", salt)).toBe(createHash("sha256").update(`${payload}`).digest("hex"));
  });

  it("does not depend on the order of keys in the details", () => {
    expect(checksumOf(entry({ details: { a: 1, b: { c: 2, d: 3 } } }), 1, null, salt)).toBe(
      checksumOf(entry({ details: { b: { d: 3, c: 2 }, a: 1 } }), 1, null, salt),
    );
  });

  it("continues a chain without gaps, each row linked to the one before", () => {
    const rows = sealChain({ seq: 41, checksum: "head" }, [entry(), entry({ id: uuidv7() })], (count) =>
      Buffer.alloc(count, 7),
    );
    expect(rows.map((r) => [r.seq, r.prevChecksum])).toEqual([
      [42, "head"],
      [43, rows[0]?.checksum],
    ]);
  });
});
