import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { sql } from "@muster/db";
import { type Caller, uuidv7 } from "@muster/kit";
import { RolloutService } from "@muster/proto/muster/release/v1/rollout_pb";
import { register } from "@muster/rpc";
import { callers, outcome, type TestPort, testPort } from "@muster/testing";
import { startRelease, type TestRelease } from "../testing/release.ts";
import { rolloutService } from "./rollout.ts";

let service: TestRelease;
let port: TestPort;
/** Ids that belong to another partner than the one whose devices are counted. */
let foreignIds: string[] = [];
const counted: (string | null)[] = [];
const countDevices = async (rings: readonly object[], partnerId: string | null) => {
  counted.push(partnerId);
  const audiences = rings.map((_ring, at) => at);
  return { groups: [{ agentVersion: "1.0.0", audiences, devices: 5 }], unknownIds: foreignIds };
};
beforeAll(async () => {
  service = await startRelease();
  const { db, now, plan, ramp } = service.deps;
  const deps = { db, now, plan, ramp, countDevices, stagedMax: 3, mfaMaxAgeMinutes: 15 };
  port = await testPort("agent-release", [register(RolloutService, rolloutService(deps))]);
});
afterAll(async () => {
  await port?.close();
  await service?.stop();
});

const permissions = ["agent-releases:read", "partner:policy"];
const rollouts = (caller: Caller) => port.client(RolloutService, caller);
const root = () =>
  rollouts(callers.platformAdmin({ permissions: ["agent-releases:read", "platform:admin"], mfaAt: new Date() }));
const partner = (partnerId: string, change: object = {}) =>
  rollouts(callers.partnerAdmin(partnerId, { permissions, mfaAt: new Date(), ...change }));

let minor = 0;
/** A version that is registered, and not promoted. */
async function registered(): Promise<string> {
  const version = `2.${minor++}.0`;
  await service.stage(version, { state: "cancelled" }, 10 + minor);
  return version;
}

/** A running rollout of a partner for all of its devices. */
async function started(partnerId: string, version: string, change: object = {}): Promise<string> {
  const wanted = { component: "agent", version, soakSeconds: 0, ...change };
  return String((await partner(partnerId).createRollout(wanted)).rollout?.id);
}

const offeredTo = async (owner: object, versions: object = {}) => {
  const { answers } = await service.decide(service.question(versions, owner));
  return answers.flatMap(({ offers }) => offers.map(({ version }) => version));
};
const state = async (id: string, to: string, as = root()) =>
  (await as.changeState({ id, change: to, acceptFailures: to === "resume" })).rollout;

describe("a partner's rollout", () => {
  it("offers its version to the partner's own devices alone, and its audit row is the partner's", async () => {
    const [partnerId, version] = [uuidv7(), await registered()];
    const id = await started(partnerId, version, { rings: [{ name: "All", os: ["linux"] }] });
    expect(counted.at(-1)).toBe(partnerId);
    expect(await offeredTo({ partnerId })).toEqual([version]);
    expect(await offeredTo({ partnerId: uuidv7() })).toEqual([]);
    const event = await service.lastAuditEvent("agent_update.rollout.create");
    expect(event).toMatchObject({ partnerId, orgId: "", resourceId: id });
    expect((await root().getRollout({ id })).rollout).toMatchObject({ partnerId, mayChange: true, succeeded: 0 });
    await state(id, "cancel");
  });

  it("is 404 for other partners, who change the platform's neither, and is listed to its own", async () => {
    const [partnerId, other] = [uuidv7(), uuidv7()];
    const id = await started(partnerId, await registered());
    const ofPlatform = await service.stage(`2.${minor++}.0`, { state: "paused" }, 10 + minor);
    const missing = "rollout_not_found";
    const calls = (as: string, of: string) => [
      partner(as).updateRollout({ id: of, percent: 100 }),
      ...["pause", "resume", "complete", "cancel"].map((change) => partner(as).changeState({ id: of, change })),
    ];
    const reads = [
      partner(other).getRollout({ id }),
      partner(other).getProgress({ id }),
      partner(other).listDevices({ id }),
    ];
    for (const call of [...calls(other, id), ...calls(partnerId, ofPlatform), ...reads]) {
      expect(await outcome(call)).toBe(missing);
    }
    expect((await partner(other).getRollout({ id: ofPlatform })).rollout?.mayChange).toBe(false);
    const listed = async (as: ReturnType<typeof rollouts>, change: object = {}) =>
      (await as.listRollouts({ kind: "staged", page: { limit: 100 }, ...change })).rollouts.map((each) => each.id);
    expect(await listed(partner(other))).not.toContain(id);
    expect(await listed(partner(partnerId))).toEqual(expect.arrayContaining([id, ofPlatform]));
    expect(await listed(partner(partnerId), { partnerId })).toEqual([id]);
    expect(await listed(root(), { partnerId })).toEqual([id]);
    expect(await outcome(partner(other).listRollouts({ partnerId }))).toBe("partner_not_found");
    await state(id, "cancel");
  });

  it("needs the permission, a second factor and all organizations", async () => {
    const [partnerId, version] = [uuidv7(), await registered()];
    const create = (change: object) =>
      outcome(partner(partnerId, change).createRollout({ component: "agent", version }));
    const id = await started(partnerId, version);
    const some = { orgAccess: { mode: "list", orgIds: [uuidv7()] } };
    expect({
      permission: await create({ permissions: ["agent-releases:read"] }),
      factor: await create({ mfaAt: null }),
      all: await create(some),
      change: await outcome(partner(partnerId, some).changeState({ id, change: "pause" })),
      preview: await outcome(partner(partnerId, some).previewRings({ rings: [{ name: "r", os: ["linux"] }] })),
      organization: await outcome(
        rollouts(callers.orgAdmin(partnerId, uuidv7(), { permissions, mfaAt: new Date() })).changeState({
          id,
          change: "pause",
        }),
      ),
    }).toEqual({
      permission: "permission_denied",
      factor: "mfa_required",
      all: "scope_not_allowed",
      change: "scope_not_allowed",
      preview: "scope_not_allowed",
      organization: "scope_not_allowed",
    });
    await state(id, "cancel");
  });

  it("is refused with rings of others, with an unknown version, and beyond the partner's own number", async () => {
    const [partnerId, other] = [uuidv7(), uuidv7()];
    const version = await registered();
    foreignIds = [other];
    const foreign = { rings: [{ name: "Theirs", orgIds: [other] }] };
    const create = (change: object) =>
      outcome(partner(partnerId).createRollout({ component: "agent", version, ...change }));
    expect(await create(foreign)).toBe("validation_failed rings.0.orgIds");
    expect(await outcome(partner(partnerId).previewRings(foreign))).toBe("validation_failed rings.0.orgIds");
    foreignIds = [];
    expect(await create({ version: "9.9.9" })).toBe("agent_version_not_found");
    expect(await create({ templateId: uuidv7() })).toBe("rollout_template_not_found");
    const ids = [
      await started(partnerId, version),
      await started(partnerId, version),
      await started(partnerId, version),
    ];
    expect(await create({})).toBe("limit_reached");
    const theirs = await started(other, version);
    for (const id of [...ids, theirs]) await state(id, "cancel");
  });
});

describe("a partner that is pinned", () => {
  const pin = (partnerId: string, orgId: string | null, version: string) =>
    service.changeSettings(
      partnerId,
      sql`INSERT INTO update_settings (partner_id, org_id, agent_target, updated_at)
          VALUES (${partnerId}::uuid, ${orgId}::uuid, ${version}, now())`,
    );

  it("stages beyond its pin what the platform has promoted; completing moves the pin, an organization's stays", async () => {
    const [partnerId, orgId, pinnedOrg] = [uuidv7(), uuidv7(), uuidv7()];
    await service.release("1.0.0", { counter: 1 });
    await service.release("1.1.0", { counter: 2 });
    await pin(partnerId, null, "1.0.0");
    await pin(partnerId, pinnedOrg, "1.0.0");
    const create = (version: string) => outcome(partner(partnerId).createRollout({ component: "agent", version }));
    expect(await create("1.0.0")).toBe("validation_failed version");
    const id = await started(partnerId, "1.1.0", { rings: [{ name: "First", orgIds: [orgId] }] });
    expect(await offeredTo({ partnerId, orgId })).toEqual(["1.1.0"]);
    expect(await offeredTo({ partnerId })).toEqual([]);
    expect((await state(id, "complete", partner(partnerId)))?.state).toBe("completed");
    expect(await offeredTo({ partnerId })).toEqual(["1.1.0"]);
    expect(await offeredTo({ partnerId, orgId: pinnedOrg })).toEqual([]);
    expect(await service.lastAuditEvent("agent_update.settings.update")).toMatchObject({
      partnerId,
      resourceId: partnerId,
    });
    expect(await service.lastAudit("agent_update.settings.update")).toMatchObject({
      changedFields: ["agentTarget"],
      changes: { before: { agentTarget: "1.0.0" }, after: { agentTarget: "1.1.0" } },
    });
  });
});

describe("the platform's halt", () => {
  it("stops a partner's rollout of the version, for the part that it halts, and not the other way round", async () => {
    const [partnerId, version] = [uuidv7(), await registered()];
    const id = await started(partnerId, version);
    const guard = sql`kind = 'guard' AND release_id = (SELECT id FROM release WHERE component = 'agent' AND version = ${version})`;
    await service.change(sql`UPDATE rollout SET state = 'halted' WHERE ${guard}`);
    expect(await offeredTo({ partnerId })).not.toContain(version);
    expect((await root().getRollout({ id })).rollout?.state).toBe("running");
    await service.change(sql`UPDATE rollout SET state = 'running' WHERE ${guard}`);
    await service.change(sql`
      INSERT INTO rollout_part (rollout_id, kind, name, failed, halted_at, reason)
      SELECT id, 'platform', 'linux/amd64', 3, now(), '3 of 4 updates failed' FROM rollout WHERE ${guard}`);
    expect(await offeredTo({ partnerId })).not.toContain(version);
    await service.change(sql`DELETE FROM rollout_part`);
    expect(await offeredTo({ partnerId })).toEqual([version]);
    const ofPlatform = await service.stage(`2.${minor++}.0`, { percent: 0 }, 10 + minor);
    await service.change(sql`UPDATE rollout SET state = 'halted', halted_at = now() WHERE id = ${id}::uuid`);
    expect((await root().getRollout({ id: ofPlatform })).rollout?.state).toBe("running");
    await state(ofPlatform, "cancel");
    await state(id, "cancel");
  });

  it("holds what an operator has paused: its partner cannot resume it, but may cancel it", async () => {
    const [partnerId, version] = [uuidv7(), await registered()];
    const id = await started(partnerId, version);
    expect(await state(id, "pause")).toMatchObject({ state: "paused", heldByPlatform: true });
    expect(await service.lastAuditEvent("agent_update.rollout.pause")).toMatchObject({ partnerId });
    const own = partner(partnerId);
    for (const to of ["pause", "resume", "complete"]) {
      const refused = await own.changeState({ id, change: to }).catch((error: unknown) => error);
      expect(refused).toMatchObject({ message: expect.stringContaining("The platform has paused the rollout") });
    }
    expect(await state(id, "resume")).toMatchObject({ state: "running", heldByPlatform: false });
    expect(await state(id, "pause", own)).toMatchObject({ state: "paused", heldByPlatform: false });
    expect(await state(id, "resume", own)).toMatchObject({ state: "running" });
    await state(id, "pause");
    expect(await state(id, "cancel", own)).toMatchObject({ state: "cancelled" });
  });

  it("comes by the partner's own failures, too, to which its people and nobody else's are notified", async () => {
    const [partnerId, orgId, version] = [uuidv7(), uuidv7(), await registered()];
    const id = await started(partnerId, version);
    const failing = async () => {
      const question = service.question({}, { partnerId, orgId });
      await service.decide(question);
      await service.decide({
        ...question,
        report: { component: "agent", version, state: "failed", error: "no" } as never,
      });
    };
    for (let at = 0; at < 3; at++) await failing();
    const { rollout } = await partner(partnerId).getRollout({ id });
    expect(rollout).toMatchObject({ state: "halted", failed: 3, partnerId });
    expect(await service.lastAuditEvent("agent_update.rollout.halt")).toMatchObject({ partnerId, resourceId: id });
    const notices = await service.read<{ partner_id: string }>(
      sql`SELECT partner_id FROM halt_notice WHERE rollout_id = ${id}::uuid`,
    );
    expect(new Set(notices.map((each) => each.partner_id))).toEqual(new Set([partnerId]));
    expect(await state(id, "resume", partner(partnerId))).toMatchObject({ state: "running", failuresBeforeResume: 3 });
    await state(id, "cancel");
  });
});
