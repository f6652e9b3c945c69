import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { sql } from "@muster/db";
import { signNote, uuidv7 } from "@muster/kit";
import { RolloutService } from "@muster/proto/muster/release/v1/rollout_pb";
import { register } from "@muster/rpc";
import { callers, outcome, type TestPort, testPort } from "@muster/testing";
import { releaseSigner, startRelease, type TestRelease } from "../testing/release.ts";
import { rolloutService } from "./rollout.ts";

let service: TestRelease;
let port: TestPort;
/** What tenancy counts: devices of each version that are in the rings of these names. */
let fleet: { version: string; rings: string[]; devices: number }[] = [];
let unknownIds: string[] = [];
const countDevices = async (rings: readonly { name: string }[]) => ({
  groups: fleet.map(({ version, rings: names, devices }) => {
    return {
      agentVersion: version,
      audiences: rings.flatMap(({ name }, at) => (names.includes(name) ? [at] : [])),
      devices,
    };
  }),
  unknownIds,
});
beforeAll(async () => {
  service = await startRelease();
  const { db, now, plan, ramp } = service.deps;
  const deps = { db, now, plan, ramp, countDevices, stagedMax: 10, mfaMaxAgeMinutes: 15 };
  port = await testPort("agent-release", [register(RolloutService, rolloutService(deps))]);
});
afterAll(async () => {
  await port?.close();
  await service?.stop();
});

const permissions = ["agent-releases:read", "platform:admin"];
const root = () => port.client(RolloutService, callers.platformAdmin({ permissions, mfaAt: new Date() }));
const change = async (id: string, to: string, acceptFailures = false) =>
  (await root().changeState({ id, change: to, acceptFailures })).rollout;

describe("a rollout above its threshold", () => {
  it("is resumed only by a user who accepts its failures, and the audit row has both counts", async () => {
    const id = await service.stage("1.1.0");
    await service.change(sql`
      UPDATE rollout SET state = 'halted', failed = 60, forgiven = 2, succeeded = 100 WHERE id = ${id}::uuid`);
    const refused = await change(id, "resume").catch((error: unknown) => error);
    expect(await outcome(change(id, "resume"))).toBe("rollout_over_threshold");
    expect(refused).toMatchObject({ message: expect.stringContaining("More updates failed than the rollout allows") });
    expect(await change(id, "resume", true)).toMatchObject({ state: "running", failed: 60, failuresBeforeResume: 60 });
    const details = await service.lastAudit("agent_update.rollout.resume");
    expect(details).toMatchObject({
      acceptFailures: true,
      changes: {
        before: { state: "halted", failuresBeforeResume: 2 },
        after: { state: "running", failuresBeforeResume: 60 },
      },
    });
  });

  it("is resumed without more when its limits were raised above its failures", async () => {
    const id = await service.stage("1.2.0");
    await service.change(
      sql`UPDATE rollout SET state = 'halted', failed = 51, succeeded = 1600 WHERE id = ${id}::uuid`,
    );
    expect(await outcome(change(id, "resume"))).toBe("rollout_over_threshold");
    await root().updateRollout({ id, haltAfterFailures: 60 });
    expect(await change(id, "resume")).toMatchObject({ state: "running", failuresBeforeResume: 0 });
  });
});

describe("a paused rollout", () => {
  it("extends the time of its attempts by the pause, once", async () => {
    const id = await service.stage("1.3.0");
    const question = service.question();
    await service.decide(question);
    const left = async () => {
      const rows = await service.read<{ left: number }>(sql`
        SELECT extract(epoch FROM deadline - clock_timestamp())::float8 AS left FROM update_attempt
        WHERE device_id = ${question.device.id}::uuid`);
      return rows[0]?.left;
    };
    await change(id, "pause");
    await change(id, "pause");
    await service.execute(sql`
      UPDATE update_attempt SET offered_at = offered_at - interval '1 hour', deadline = deadline - interval '1 hour'
      WHERE device_id = ${question.device.id}::uuid`);
    await service.execute(sql`UPDATE rollout SET paused_at = paused_at - interval '1 hour' WHERE id = ${id}::uuid`);
    expect(await left()).toBeLessThan(-3_200);
    await change(id, "resume");
    await change(id, "resume");
    expect(await left()).toBeGreaterThan(290);
    expect(await left()).toBeLessThan(301);
  });
});

describe("a new rollout", () => {
  const create = (version: string) => outcome(root().createRollout({ component: "agent", version, percent: 1 }));

  it("is refused for the promoted version, an older one, and one that agents would refuse", async () => {
    await service.release("2.0.0", { counter: 5 });
    await service.release("2.1.0", { counter: 7 });
    await service.stage("2.2.0", {}, 6);
    expect({
      promoted: await create("2.1.0"),
      older: await create("2.0.0"),
      unknown: await create("9.9.9"),
      "with a lower counter": await create("2.2.0"),
    }).toEqual({
      promoted: "validation_failed version",
      older: "validation_failed version",
      unknown: "agent_version_not_found",
      "with a lower counter": "release_untrusted 2.2.0 has the counter 6, lower than 7 of 2.1.0: agents refuse it",
    });
  });
});

describe("rings", () => {
  const ring = (name: string, change: object = {}) => ({ name, ...change });
  const preview = (...rings: object[]) => root().previewRings({ rings });

  it("are counted before a rollout starts, by the range of versions and without those of rings before, too", async () => {
    fleet = [
      { version: "1.0.0", rings: ["all", "some"], devices: 3 },
      { version: "1.2.0", rings: ["all"], devices: 4 },
      { version: "nightly", rings: ["all", "some"], devices: 1 },
    ];
    const counted = await preview(
      ring("some", { os: ["linux"], agentVersionRange: "<1.2.0" }),
      ring("all", { os: ["linux"] }),
      ring("none", { os: ["linux"] }),
    );
    expect([counted.devices, counted.ownDevices]).toEqual([
      [3, 8, 0],
      [3, 5, 0],
    ]);
  });

  it("without devices, with unknown owners and with bad criteria are refused by their names", async () => {
    const unknown = uuidv7();
    fleet = [{ version: "1.0.0", rings: ["all"], devices: 3 }];
    await service.stage("3.0.0", { state: "cancelled" }, 10);
    const create = (...rings: object[]) =>
      outcome(root().createRollout({ component: "agent", version: "3.0.0", rings: rings as never }));
    unknownIds = [unknown];
    expect(await create(ring("unknown", { groupIds: [unknown] }))).toBe("validation_failed rings.0.groupIds");
    unknownIds = [];
    expect({
      nobody: await create(ring("none", { os: ["linux"] })),
      empty: await create(ring("all")),
      os: await create(ring("all", { os: ["plan9"] })),
      arch: await create(ring("all", { arch: ["armv7"] })),
      range: await create(ring("all", { agentVersionRange: "newest" })),
      "no id": await create(ring("all", { orgIds: ["x"] })),
      good: await create(ring("all", { labels: { env: "test" } })),
    }).toEqual({
      nobody: "validation_failed rings.0",
      empty: "validation_failed rings.0",
      os: "validation_failed rings.0.os",
      arch: "validation_failed rings.0.arch",
      range: "validation_failed rings.0.agentVersionRange",
      "no id": "validation_failed rings.0",
      good: "ok",
    });
  });

  it("open by themselves when enough devices of the rings before have succeeded", async () => {
    const orgs = [uuidv7(), uuidv7()];
    const [first, second] = orgs.map((orgId) => ({ orgId, partnerId: uuidv7() }));
    fleet = [
      { version: "1.0.0", rings: ["first"], devices: 4 },
      { version: "1.0.0", rings: ["second"], devices: 1 },
    ];
    await service.stage("4.0.0", { state: "cancelled" }, 11);
    const rings = ["first", "second"].map((name, at) => ring(name, { orgIds: [orgs[at]] }));
    const wanted = {
      component: "agent",
      version: "4.0.0",
      rings: rings as never,
      waveSuccessPercent: 50,
      soakSeconds: 0,
    };
    const { rollout } = await root().createRollout(wanted);
    const openRings = async () => (await root().getRollout({ id: String(rollout?.id) })).rollout?.openRings;
    const update = async (owner: object) => {
      const question = service.question({}, owner);
      const { answers } = await service.decide(question);
      await service.decide({
        ...question,
        device: { ...question.device, versions: { ...question.device.versions, agent: "4.0.0" } },
      });
      return answers[0]?.offers.map(({ version }) => version);
    };
    expect([await update(first ?? {}), await openRings()]).toEqual([["4.0.0"], 1]);
    expect(await update(second ?? {})).not.toEqual(["4.0.0"]);
    expect([await update(first ?? {}), await openRings()]).toEqual([["4.0.0"], 2]);
    expect(await update(second ?? {})).toEqual(["4.0.0"]);
    const { waves } = await root().getProgress({ id: String(rollout?.id) });
    const none = { inFlight: 0, failed: 0 };
    expect(waves).toMatchObject([
      { name: "first", isOpen: true, devices: 4, offered: 2, succeeded: 2, ...none },
      { name: "second", isOpen: true, devices: 1, offered: 1, succeeded: 1, ...none },
    ]);
    expect(await service.lastAudit("agent_update.rollout.update")).toMatchObject({
      changes: { before: { openRings: 1 }, after: { openRings: 2 } },
    });
  });
});

describe("a new rollout of an older version", () => {
  const note = (change: object = {}) => {
    const fields = { component: "agent", version: "6.0.0", counter: 31, scope: "*", expires: "2100-01-01T00:00:00Z" };
    return signNote(`${JSON.stringify({ ...fields, ...change })}\n`, releaseSigner);
  };
  const create = (change: object) =>
    root().createRollout({ component: "agent", version: "6.0.0", percent: 1, allowDowngrade: true, ...change });

  it("needs a note of the manifests' key for this version and all organizations", async () => {
    await service.stage("6.0.0", { state: "cancelled" }, 30);
    await service.release("6.1.0", { counter: 31 });
    const refused = "validation_failed rollbackNote";
    expect(await outcome(create({ allowDowngrade: false }))).toBe("validation_failed version");
    expect(await outcome(create({ allowDowngrade: false, rollbackNote: note() }))).toBe(refused);
    expect(await outcome(create({}))).toBe("rollback_note_required");
    const others = [
      { version: "5.0.0" },
      { component: "helper" },
      { scope: uuidv7() },
      { expires: "2020-01-01T00:00:00Z" },
    ];
    for (const change of others) expect(await outcome(create({ rollbackNote: note(change) }))).toBe(refused);
    expect(await outcome(create({ rollbackNote: note().replace("31", "99") }))).toBe(refused);
    const { rollout } = await create({ rollbackNote: note() });
    expect(rollout).toMatchObject({ version: "6.0.0", state: "running", allowDowngrade: true });
    expect(await service.lastAudit("agent_update.rollout.create")).toMatchObject({
      changes: { after: { allowDowngrade: true } },
    });
  });
});
