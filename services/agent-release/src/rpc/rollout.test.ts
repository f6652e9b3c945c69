import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { sql } from "@muster/db";
import { RolloutService } from "@muster/proto/muster/release/v1/rollout_pb";
import { register } from "@muster/rpc";
import { callers, outcome, type TestPort, testPort } from "@muster/testing";
import { startRelease, type TestRelease } from "../testing/release.ts";
import { rolloutService } from "./rollout.ts";

let service: TestRelease;
let port: TestPort;
beforeAll(async () => {
  service = await startRelease();
  const { db, now, plan } = service.deps;
  const deps = { db, now, plan, stagedMax: 10, mfaMaxAgeMinutes: 15 };
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
    await service.change(sql`UPDATE rollout SET state = 'halted', failed = 51 WHERE id = ${id}::uuid`);
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
