import { randomUUID } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { openDatabase, sql } from "@muster/db";
import { AppError, type CallContext, createLogger, systemCaller, uuidv7 } from "@muster/kit";
import { DeviceSchema } from "@muster/proto/muster/tenancy/v1/device_pb";
import { until } from "@muster/testing";
import type { NewDevice, TenancyDevices } from "../clients/tenancy-devices.ts";
import { sweepOnce } from "../jobs/sweep-reservations.ts";
import { agentTokenDigest } from "../rules/agent-token.ts";
import { deviceIdsOf } from "../rules/enrollment.ts";
import { unknownKeys } from "../store/unknown-keys.ts";
import { codeOf } from "../testing/identity.ts";
import { startTestKeys, type TestKeys, tenantOf } from "../testing/keys.ts";
import { enroll } from "./enroll.ts";
import { resolveAgent } from "./resolve-agent.ts";

let keys: TestKeys;
let tenant: Awaited<ReturnType<typeof tenantOf>>;
beforeAll(async () => {
  keys = await startTestKeys();
  tenant = await tenantOf(keys);
});
afterAll(async () => {
  await keys.close();
});

/** Tenancy as far as enrollment sees it. */
function fakeTenancy() {
  const made = new Map<string, NewDevice>();
  const gone = new Set<string>();
  let fail: ((device: NewDevice) => Error | null) | null = null;
  let failAfter: Error | null = null;
  const devices: TenancyDevices = {
    async create(wanted) {
      const problem = fail?.(wanted);
      if (problem) throw problem;
      if (gone.has(wanted.id)) throw new AppError("device_decommissioned", "Device is decommissioned");
      made.set(wanted.id, wanted);
      if (failAfter) throw failAfter;
      const { id, orgId, siteId } = wanted;
      const device = create(DeviceSchema, { id, orgId, siteId, partnerId: tenant.partnerId, status: "offline" });
      return { device, heartbeatIntervalSeconds: 60 };
    },
    async discard(id) {
      gone.add(id);
      made.delete(id);
    },
    async forgetKey() {},
  };
  return {
    devices,
    made,
    refuse: (how: typeof fail) => {
      fail = how;
    },
    loseReplies: (error: Error | null) => {
      failAfter = error;
    },
  };
}

const fields = (hardwareId = "") => ({
  hostname: "HOST",
  os: "linux",
  arch: "amd64",
  libc: "",
  agentVersion: "1.0.0",
  watchdogVersion: "",
  hardwareId,
  serialNumber: "",
  labels: {},
});
const context = (clientAddress = "192.0.2.9"): CallContext => ({
  caller: systemCaller("gateway"),
  meta: { requestId: uuidv7(), clientAddress, userAgent: null, traceparent: null },
  deadlineMs: null,
  signal: new AbortController().signal,
});

function enrollment(limit = 1_000) {
  const tenancy = fakeTenancy();
  const now = () => new Date();
  const { db, pepper } = keys;
  const failures = unknownKeys({ db, limit: { max: limit, windowMs: 60_000 }, now, kind: "enrollment" });
  const box = { seal: (plain: Buffer) => plain, open: (sealed: Buffer) => sealed };
  const deps = { db, box, peppers: [pepper], devices: tenancy.devices, failures, reservationSeconds: 60, now };
  return {
    ...tenancy,
    enter: (key: string, hardwareId?: string, from?: string) => enroll(deps, context(from), key, fields(hardwareId)),
    sweep: () => sweepOnce({ db, discard: tenancy.devices.discard, log: createLogger("test", "fatal") }),
  };
}

async function newKey(maxUsage = 1) {
  const admin = keys.enrollmentKeysAs(tenant.partnerAdmin);
  const { enrollmentKey, key } = await admin.createEnrollmentKey({ orgId: tenant.orgId, name: "k", maxUsage });
  const id = enrollmentKey?.id as string;
  return { key, id, shown: async () => (await admin.getEnrollmentKey({ id })).enrollmentKey?.usageCount };
}
const late = () =>
  keys.db.tx(keys.system, (tx) =>
    tx.execute(
      sql`UPDATE enrollment_reservations SET reserved_until = now() - interval '1 s' WHERE confirmed_at IS NULL`,
    ),
  );
const holderOf = (token: string) => resolveAgent(keys.db, agentTokenDigest(token), new Date());

describe("an enrollment", () => {
  it("returns a valid token of a device in the key's place", async () => {
    const { enter, made } = enrollment();
    const { key, shown } = await newKey();
    const { token, device } = await enter(key);
    expect(token).toMatch(/^agt_[A-Za-z0-9_-]{43}$/);
    expect(made.get(device.id)).toMatchObject({ orgId: tenant.orgId, siteId: "" });
    expect((await holderOf(token))?.device_id).toBe(device.id);
    expect(await shown()).toBe(1);
    expect(await codeOf(enter(key))).toBe("enrollment_key_exhausted");
  });

  it("waits for the locks of its own tenant alone: calls of others have a connection meanwhile", async () => {
    const { enter } = enrollment();
    const [{ key, id }, other] = [await newKey(20), await newKey()];
    const beside = openDatabase({ url: keys.appUrl, max: 2, name: "beside", log: createLogger("test", "error") });
    const entering = await beside.tx(keys.system, async (tx) => {
      await tx.execute(sql`SELECT FROM enrollment_keys WHERE id = ${id} FOR UPDATE`);
      const all = Array.from({ length: 8 }, () => codeOf(enter(key)));
      await until("enrollments that wait for a lock", async () => {
        const waiting = await beside.read(
          keys.system,
          sql`SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
        );
        return waiting.length >= 4;
      });
      expect(await codeOf(enter(other.key))).toBe("answered");
      expect(await keys.db.check()).toBe("ok");
      return all;
    });
    const codes = await Promise.all(entering);
    expect(codes.filter((code) => code === "answered").length).toBeGreaterThanOrEqual(4);
    await beside.close();
  });

  it("succeeds once for 50 concurrent requests when the key has one use", async () => {
    const { enter, made } = enrollment();
    const { key, shown } = await newKey();
    const outcomes = await Promise.all(Array.from({ length: 50 }, () => codeOf(enter(key, randomUUID()))));
    expect(outcomes.filter((code) => code === "answered")).toHaveLength(1);
    expect(new Set(outcomes)).toEqual(new Set(["answered", "enrollment_key_exhausted"]));
    expect([made.size, await shown()]).toEqual([1, 1]);
  });

  it("repeated by the same machine after a lost reply returns the same device, takes no second use and voids the lost token", async () => {
    const { enter } = enrollment();
    const { key, shown } = await newKey();
    const lost = await enter(key, "board-1");
    const found = await enter(key, "board-1");
    expect(found.device.id).toBe(lost.device.id);
    expect(await holderOf(lost.token)).toBeNull();
    expect((await holderOf(found.token))?.device_id).toBe(found.device.id);
    expect(await shown()).toBe(1);
  });

  it("repeated by the same machine after its token was used is another enrollment", async () => {
    const { enter } = enrollment();
    const { key } = await newKey(2);
    const first = await enter(key, "board-2");
    await holderOf(first.token);
    const second = await enter(key, "board-2");
    expect(second.device.id).not.toBe(first.device.id);
    expect((await holderOf(first.token))?.device_id).toBe(first.device.id);
    await holderOf(second.token);
    expect(await codeOf(enter(key, "board-2"))).toBe("enrollment_key_exhausted");
  });

  it("frees its use at once when tenancy refuses it", async () => {
    const { enter, refuse } = enrollment();
    const { key, shown } = await newKey();
    for (const code of ["limit_reached", "organization_inactive", "partner_inactive", "validation_failed"] as const) {
      refuse(() => new AppError(code, "No"));
      expect(await codeOf(enter(key))).toBe(code);
    }
    refuse(null);
    expect(await shown()).toBe(0);
    expect(await codeOf(enter(key))).toBe("answered");
  });

  it("during an outage of tenancy frees its use once it has expired, and a device created late is deleted", async () => {
    const { enter, loseReplies, made, sweep } = enrollment();
    const { key, shown } = await newKey();
    loseReplies(new AppError("unavailable", "Service is unavailable"));
    expect(await codeOf(enter(key, "board-3"))).toBe("unavailable");
    expect([made.size, await shown()]).toEqual([1, 0]);
    loseReplies(null);
    expect(await codeOf(enter(key, "another"))).toBe("enrollment_key_exhausted");
    await late();
    await sweep();
    expect(made.size).toBe(0);
    // Its first id is used up in tenancy: it gets the next one.
    const again = await enter(key, "board-3");
    expect([again.device.id, made.size, await shown()]).toEqual([deviceIdsOf(key, fields("board-3"))[1], 1, 1]);
  });

  it("resumes where it stopped when the same machine retries in time", async () => {
    const { enter, loseReplies, made, sweep } = enrollment();
    const { key, shown } = await newKey();
    loseReplies(new AppError("unavailable", "Service is unavailable"));
    expect(await codeOf(enter(key, "board-4"))).toBe("unavailable");
    loseReplies(null);
    const { device } = await enter(key, "board-4");
    await late();
    await sweep();
    expect([[...made.keys()], await shown()]).toEqual([[device.id], 1]);
  });

  it("leaves the site out when the site was just deleted", async () => {
    const { enter, made, refuse } = enrollment();
    const siteId = await keys.addSite(tenant.partnerId, tenant.orgId);
    const admin = keys.enrollmentKeysAs(tenant.partnerAdmin);
    const { key } = await admin.createEnrollmentKey({ orgId: tenant.orgId, name: "k", siteId });
    refuse(({ siteId }) => (siteId === "" ? null : new AppError("site_not_found", "Site not found")));
    const { device } = await enter(key);
    expect(made.get(device.id)?.siteId).toBe("");
  });

  it("with a refused key counts towards its address's limit, and valid keys still work", async () => {
    const { enter } = enrollment(3);
    const { key } = await newKey();
    const from = "198.51.100.77";
    const outcomes: string[] = [];
    for (let i = 0; i < 5; i++) outcomes.push(await codeOf(enter(i % 2 ? "0".repeat(64) : "nonsense", "", from)));
    expect(outcomes).toEqual([
      ...Array.from({ length: 3 }, () => "enrollment_key_invalid"),
      "rate_limited",
      "rate_limited",
    ]);
    expect(await codeOf(enter("f".repeat(64), "", "198.51.100.78"))).toBe("enrollment_key_invalid");
    expect(await codeOf(enter(key, "", from))).toBe("answered");
  });

  it("completes although the key was deleted meanwhile: its device exists", async () => {
    const { enter, refuse, made } = enrollment();
    const { key, id } = await newKey();
    const admin = keys.enrollmentKeysAs(tenant.partnerAdmin);
    let deleting: Promise<unknown> = Promise.resolve();
    refuse(() => {
      deleting = admin.deleteEnrollmentKey({ id });
      return null;
    });
    const { token, device } = await enter(key);
    await deleting;
    expect((await holderOf(token))?.device_id).toBe(device.id);
    expect(made.has(device.id)).toBe(true);
  });
});
