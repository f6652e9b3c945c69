import { timestampDate, timestampFromDate } from "@bufbuild/protobuf/wkt";
import { describe, expect, it } from "@jest/globals";
import { sql } from "@muster/db";
import { type Caller, createLogger, uuidv7 } from "@muster/kit";
import { callers } from "@muster/testing";
import { sweepOnce } from "../jobs/sweep-reservations.ts";
import { enrollmentDigest } from "../rules/enrollment-key.ts";
import { confirm, granted, release, reserveUse } from "../store/enrollment-uses.ts";
import { codeOf } from "../testing/identity.ts";
import { tenantOf } from "../testing/keys.ts";
import { ownKeys } from "../testing/own-keys.ts";

const { keys, tenant } = ownKeys();

const minutes = (n: number) => new Date(keys.clock.now.getTime() + n * 60_000);
const admin = () => keys.enrollmentKeysAs(tenant.orgAdmin);

async function made(change: Record<string, unknown> = {}, as: Caller = tenant.orgAdmin) {
  const { enrollmentKey, key } = await keys.enrollmentKeysAs(as).createEnrollmentKey({ name: "Fleet", ...change });
  if (!enrollmentKey) throw new Error("no key");
  return { ...enrollmentKey, key };
}

const stateOf = async (id: string) => (await admin().getEnrollmentKey({ id })).enrollmentKey;
/** As the limit counts: enrollments in flight included. */
const usesOf = async (id: string) => {
  const [row] = await keys.db.read<{ n: number }>(
    keys.system,
    sql`SELECT usage_count AS n FROM enrollment_keys WHERE id = ${id}`,
  );
  return row?.n;
};
const shownOf = async (id: string) => (await stateOf(id))?.usageCount;
const discarded: string[] = [];
const sweep = () =>
  sweepOnce({
    db: keys.db,
    discard: async (id) => void discarded.push(id),
    log: createLogger("test", "fatal"),
  });

describe("an enrollment key's setting for reinstalled machines", () => {
  it.each([
    ["", "quarantine"],
    ["replace", "replace"],
    ["new", "new"],
  ])("%j is %s, is kept by a rotation and reaches enrollments", async (reinstall, expected) => {
    const { id, reinstall: stored } = await made({ reinstall });
    expect(stored).toBe(expected);
    const rotated = await admin().rotateEnrollmentKey({ id });
    expect(rotated.enrollmentKey?.reinstall).toBe(expected);
    const digest = enrollmentDigest(rotated.key, keys.pepper);
    const use = await keys.db.tx(keys.system, (tx) => reserveUse(tx, [digest], uuidv7()));
    expect(granted(use)).toMatchObject({ keyId: id, reinstall: expected });
  });

  it("is refused when it is none of them", async () => {
    expect(await codeOf(made({ reinstall: "overwrite" }))).toBe("validation_failed");
  });
});

describe("creating an enrollment key", () => {
  it("defaults to the caller's organization, one use and an hour, and returns the key once", async () => {
    const { key, ...record } = await made();
    expect(key).toMatch(/^[0-9a-f]{64}$/);
    expect(record).toMatchObject({
      orgId: tenant.orgId,
      partnerId: tenant.partnerId,
      siteId: "",
      name: "Fleet",
      usageCount: 0,
      maxUsage: 1,
      createdBy: tenant.orgAdmin.actor.id,
    });
    expect(record.expiresAt && timestampDate(record.expiresAt)).toEqual(minutes(60));
    expect(await stateOf(record.id)).toEqual(record);
    const [row] = await keys.db.read<{ digest: Buffer; pepper_id: string; all: string }>(
      keys.system,
      sql`SELECT digest, pepper_id, enrollment_keys::text AS all FROM enrollment_keys WHERE id = ${record.id}`,
    );
    expect(row?.digest).toEqual(enrollmentDigest(key, keys.pepper));
    expect(row?.pepper_id).toBe(keys.pepper.id);
    expect(row?.all).not.toContain(key.slice(12));
    const rows = await keys.auditOf(record.id);
    expect(rows.map(({ action, orgId }) => [action, orgId])).toEqual([["enrollment_key.create", tenant.orgId]]);
    expect(await keys.outboxText()).not.toContain(key.slice(12));
  });

  it("needs an organization from partner and system callers", async () => {
    const root = await keys.user(callers.platformAdmin());
    for (const caller of [tenant.partnerAdmin, root]) {
      expect(await codeOf(made({}, caller))).toBe("organization_context_required");
      expect((await made({ orgId: tenant.orgId }, caller)).orgId).toBe(tenant.orgId);
      expect(await codeOf(made({ orgId: uuidv7() }, caller))).toBe("organization_not_found");
    }
    expect(await codeOf(made({ orgId: (await tenantOf(keys)).orgId }))).toBe("organization_not_found");
  });

  it("accepts only a site of that organization", async () => {
    const siteId = await keys.addSite(tenant.partnerId, tenant.orgId);
    expect((await made({ siteId })).siteId).toBe(siteId);
    const sibling = await keys.addOrganization(tenant.partnerId);
    const foreign = await keys.addSite(tenant.partnerId, sibling);
    const as = tenant.partnerAdmin;
    expect(await codeOf(made({ siteId: foreign, orgId: tenant.orgId }, as))).toBe("site_not_found");
    expect(await codeOf(made({ siteId: uuidv7() }))).toBe("site_not_found");
    expect(await codeOf(made({ siteId: "nonsense" }))).toBe("validation_failed");
  });

  it.each<[Record<string, unknown>]>([
    [{ name: "" }],
    [{ name: "x".repeat(256) }],
    [{ maxUsage: 0 }],
    [{ maxUsage: 100_001 }],
    [{ expiresAt: timestampFromDate(new Date(Date.now() - 1)) }],
  ])("refuses %j", async (change) => expect(await codeOf(made(change))).toBe("validation_failed"));

  it("and managing it require a user with permission, second factor and the site", async () => {
    const siteId = await keys.addSite(tenant.partnerId, tenant.orgId);
    const [ofSite, ofAll] = [await made({ siteId }), await made()];
    const restricted = { ...tenant.orgAdmin, siteIds: [siteId] };
    expect(await codeOf(made({}, restricted))).toBe("site_restricted");
    expect(await codeOf(made({ siteId }, restricted))).toBe("answered");
    const theirs = keys.enrollmentKeysAs(restricted);
    expect(await codeOf(theirs.rotateEnrollmentKey({ id: ofSite.id }))).toBe("answered");
    expect(await codeOf(theirs.rotateEnrollmentKey({ id: ofAll.id }))).toBe("site_restricted");
    expect(await codeOf(theirs.deleteEnrollmentKey({ id: ofAll.id }))).toBe("site_restricted");
    const viewer = await keys.user(callers.orgAdmin(tenant.partnerId, tenant.orgId), ["organizations:read"]);
    for (const [as, code] of [
      [viewer, "permission_denied"],
      [{ ...tenant.orgAdmin, mfaAt: null }, "mfa_required"],
    ] as const) {
      const client = keys.enrollmentKeysAs(as);
      expect(await codeOf(made({}, as))).toBe(code);
      expect(await codeOf(client.rotateEnrollmentKey({ id: ofAll.id }))).toBe(code);
      expect(await codeOf(client.deleteEnrollmentKey({ id: ofAll.id }))).toBe(code);
    }
    expect((await keys.enrollmentKeysAs(viewer).listEnrollmentKeys({})).enrollmentKeys).toHaveLength(3);
  });
});

describe("listing enrollment keys", () => {
  it("filters by organization and by whether they have expired", async () => {
    const [short, long] = [await made({ expiresAt: timestampFromDate(minutes(1)) }), await made()];
    keys.clock.now = minutes(1);
    const ids = async (filter: object, as = tenant.orgAdmin) =>
      (await keys.enrollmentKeysAs(as).listEnrollmentKeys(filter)).enrollmentKeys.map(({ id }) => id).sort();
    expect(await ids({})).toEqual([short.id, long.id].sort());
    expect(await ids({ expired: true })).toEqual([short.id]);
    expect(await ids({ expired: false, orgId: tenant.orgId }, tenant.partnerAdmin)).toEqual([long.id]);
    const other = await tenantOf(keys);
    expect(await ids({}, other.orgAdmin)).toEqual([]);
    const theirs = keys.enrollmentKeysAs(other.partnerAdmin);
    const calls = [
      theirs.getEnrollmentKey({ id: long.id }),
      theirs.rotateEnrollmentKey({ id: long.id }),
      theirs.deleteEnrollmentKey({ id: long.id }),
      admin().getEnrollmentKey({ id: "nonsense" }),
    ];
    expect(await Promise.all(calls.map(codeOf))).toEqual(calls.map(() => "enrollment_key_not_found"));
  });
});

describe("rotating an enrollment key", () => {
  it("returns a new, unused key, and keeps limits unless new ones are sent", async () => {
    const first = await made({ maxUsage: 3 });
    await use(first.key);
    expect(await usesOf(first.id)).toBe(1);
    const { enrollmentKey, key } = await admin().rotateEnrollmentKey({ id: first.id });
    const { key: _old, ...before } = first;
    expect(enrollmentKey).toEqual(before);
    expect(await codeOf(use(first.key))).toBe("enrollment_key_invalid");
    expect(await codeOf(use(key))).toBe("answered");
    const expiresAt = timestampFromDate(minutes(600));
    const wider = await admin().rotateEnrollmentKey({
      id: first.id,
      usage: { case: "unlimited", value: true },
      expiresAt,
    });
    expect(wider.enrollmentKey).toMatchObject({ usageCount: 0, expiresAt });
    expect(wider.enrollmentKey?.maxUsage).toBeUndefined();
    const narrow = await admin().rotateEnrollmentKey({ id: first.id, usage: { case: "maxUsage", value: 7 } });
    expect(narrow.enrollmentKey).toMatchObject({ maxUsage: 7, expiresAt });
    expect((await keys.auditOf(first.id)).map(({ action }) => action)).toEqual([
      "enrollment_key.create",
      "enrollment_key.rotate",
      "enrollment_key.rotate",
      "enrollment_key.rotate",
    ]);
  });

  it("refuses limits out of bounds", async () => {
    const { id } = await made();
    const past = timestampFromDate(minutes(-1));
    for (const change of [{ usage: { case: "maxUsage", value: 0 } as const }, { expiresAt: past }]) {
      expect(await codeOf(admin().rotateEnrollmentKey({ id, ...change }))).toBe("validation_failed");
    }
  });
});

describe("deleting an enrollment key", () => {
  it("removes it permanently, reservations included", async () => {
    const { id, key } = await made();
    await use(key);
    await admin().deleteEnrollmentKey({ id });
    expect(await codeOf(admin().deleteEnrollmentKey({ id }))).toBe("enrollment_key_not_found");
    expect(await codeOf(use(key))).toBe("enrollment_key_invalid");
    const audited = await keys.auditOf(id);
    expect(audited.map(({ action, resourceName }) => [action, resourceName]).at(-1)).toEqual([
      "enrollment_key.delete",
      "Fleet",
    ]);
  });
});

/** Takes a use for a device, as an enrollment does. */
function use(key: string, deviceId = uuidv7()) {
  return keys.db.tx(keys.system, (tx) => reserveUse(tx, [enrollmentDigest(key, keys.pepper)], deviceId)).then(granted);
}

const age = (seconds: number) =>
  keys.db.tx(keys.system, (tx) =>
    tx.execute(sql`
      UPDATE enrollment_reservations SET reserved_until = reserved_until - make_interval(secs => ${seconds}),
                                         confirmed_at = confirmed_at - make_interval(secs => ${seconds})`),
  );

describe("using an enrollment key", () => {
  it("succeeds once for 50 concurrent enrollments when it has one use", async () => {
    const { id, key } = await made();
    const outcomes = await Promise.all(Array.from({ length: 50 }, () => codeOf(use(key))));
    expect(outcomes.filter((code) => code === "answered")).toHaveLength(1);
    expect(new Set(outcomes)).toEqual(new Set(["answered", "enrollment_key_exhausted"]));
    expect(await usesOf(id)).toBe(1);
  });

  it("returns the agent's organization and site, and repeats the same reply for the same device", async () => {
    const siteId = await keys.addSite(tenant.partnerId, tenant.orgId);
    const { id, key } = await made({ siteId });
    const device = uuidv7();
    const owner = { keyId: id, orgId: tenant.orgId, partnerId: tenant.partnerId, siteId, reinstall: "quarantine" };
    expect(await use(key, device)).toEqual(owner);
    expect(await use(key, device)).toEqual(owner);
    expect(await usesOf(id)).toBe(1);
    await keys.tell("site", siteId, tenant.partnerId, tenant.orgId, true);
    expect((await use(key, device)).siteId).toBeNull();
  });

  it("fails after the expiry, for unknown keys and for keys under another pepper", async () => {
    const { id, key } = await made();
    expect(await codeOf(use("0".repeat(64)))).toBe("enrollment_key_invalid");
    const other = { id: "other", secret: "another pepper" };
    const foreign = keys.db
      .tx(keys.system, (tx) => reserveUse(tx, [enrollmentDigest(key, other)], uuidv7()))
      .then(granted);
    expect(await codeOf(foreign)).toBe("enrollment_key_invalid");
    await keys.db.tx(keys.system, (tx) =>
      tx.execute(sql`UPDATE enrollment_keys SET expires_at = now() - interval '1 s' WHERE id = ${id}`),
    );
    expect(await codeOf(use(key))).toBe("enrollment_key_expired");
  });

  it("fails once the organization is deleted", async () => {
    const { key } = await made();
    await keys.tell("organization", tenant.orgId, tenant.partnerId, tenant.orgId, true);
    expect(await codeOf(use(key))).toBe("enrollment_key_expired");
  });

  it("is undone once by a failed enrollment", async () => {
    const { id, key } = await made();
    const device = uuidv7();
    await use(key, device);
    for (let i = 0; i < 2; i++) await keys.db.tx(keys.system, (tx) => release(tx, id, device));
    expect(await usesOf(id)).toBe(0);
    expect(await codeOf(use(key))).toBe("answered");
  });

  it("is undone after a minute without confirmation, and stays counted when it was confirmed", async () => {
    const { id, key } = await made({ maxUsage: 2 });
    const [kept, lost] = [uuidv7(), uuidv7()];
    await use(key, kept);
    await use(key, lost);
    expect(await shownOf(id)).toBe(0);
    for (let i = 0; i < 2; i++) expect(await keys.db.tx(keys.system, (tx) => confirm(tx, id, kept))).toBe(true);
    expect(await shownOf(id)).toBe(1);
    await age(58);
    await sweep();
    expect(await usesOf(id)).toBe(2);
    await age(3);
    await Promise.all([sweep(), sweep()]);
    expect([await usesOf(id), await shownOf(id)]).toEqual([1, 1]);
    expect(discarded).toContain(lost);
    expect(discarded).not.toContain(kept);
    expect(await keys.db.tx(keys.system, (tx) => confirm(tx, id, lost))).toBe(false);
    await keys.db.tx(keys.system, (tx) => release(tx, id, kept));
    expect(await usesOf(id)).toBe(1);
    await age(90_000);
    await sweep();
    expect(await usesOf(id)).toBe(1);
    const [left] = await keys.db.read(
      keys.system,
      sql`SELECT count(*) AS n FROM enrollment_reservations WHERE key_id = ${id}`,
    );
    expect(left).toEqual({ n: 0 });
  });

  it("is never returned to the new key when it started before a rotation", async () => {
    const { id, key } = await made({ maxUsage: 2 });
    const device = uuidv7();
    await use(key, device);
    const { key: next } = await admin().rotateEnrollmentKey({ id });
    await use(next);
    await keys.db.tx(keys.system, (tx) => release(tx, id, device));
    expect(await usesOf(id)).toBe(1);
    expect(await codeOf(use(next, device))).toBe("answered");
    expect(await usesOf(id)).toBe(2);
  });
});
