import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { sql } from "@muster/db";
import { uuidv7 } from "@muster/kit";
import { endDueOnce } from "../jobs/end-attempts.ts";
import { startRelease, type TestRelease } from "../testing/release.ts";
import { decideForDevices, type Question } from "./decide.ts";
import type { Report } from "./move-attempts.ts";

let service: TestRelease;
let isTenancyThere = true;
beforeAll(async () => {
  service = await startRelease({
    begin: async (updates) => {
      if (!isTenancyThere) throw new Error("tenancy is away");
      return new Set(updates.map(({ deviceId }) => deviceId));
    },
  });
});
afterAll(() => service?.stop());

const many = (count: number) => Array.from({ length: count }, () => service.question());
const offered = (decided: Awaited<ReturnType<TestRelease["decide"]>>) =>
  decided.answers.filter(({ offers }) => offers.length > 0).length;
const running = ({ device }: Question, agent: string, report: Question["report"] = null): Question => ({
  device: { ...device, versions: { ...device.versions, agent } },
  report,
});
const failed = (version: string): Report => ({ component: "agent", version, state: "failed", error: "" });

describe("update decisions", () => {
  it("grant exactly five of 200 concurrent requests where five may update", async () => {
    await service.release("2.0.0", { maxInFlight: 5 });
    // As gateways call: several calls in flight, each for many devices.
    const call = async () => offered(await service.decide(...many(50)));
    const granted = await Promise.all([call(), call(), call(), call()]);
    expect(granted.reduce((sum, each) => sum + each, 0)).toBe(5);
    expect(await service.rollout("2.0.0")).toMatchObject({ in_flight: 5 });
  });

  it("repeat the same attempt for a device whose answer was lost, and count it once", async () => {
    await service.release("2.1.0");
    const question = service.question();
    const [first, second] = [await service.decide(question), await service.decide(question)];
    expect(second.answers[0]?.offers).toEqual(first.answers[0]?.offers);
    expect(await Promise.all([service.decide(question), service.decide(question)])).toMatchObject([
      { answers: [{ offers: first.answers[0]?.offers }] },
      { answers: [{ offers: first.answers[0]?.offers }] },
    ]);
    expect(await service.rollout("2.1.0")).toMatchObject({ in_flight: 1 });
  });

  it("roll back grants that tenancy did not record", async () => {
    await service.release("2.2.0");
    isTenancyThere = false;
    expect(offered(await service.decide(...many(3)))).toBe(0);
    isTenancyThere = true;
    expect(await service.rollout("2.2.0")).toMatchObject({ in_flight: 0 });
  });

  it("halt a bad release before twice the threshold has failed, and offer it to no device from then on", async () => {
    await service.release("2.3.0", { haltFailures: 5 });
    const fleet = many(60);
    let offers = 0;
    for (let round = 0; round < 5; round++) {
      const { answers } = await service.decide(...fleet);
      const granted = fleet.filter((_, at) => (answers[at]?.offers.length ?? 0) > 0);
      offers += granted.length;
      await service.decide(...granted.map((question) => running(question, "1.0.0", failed("2.3.0"))));
    }
    const rollout = await service.rollout("2.3.0");
    expect(rollout).toMatchObject({ state: "halted", in_flight: 0, succeeded: 0 });
    expect(rollout?.failed).toBeLessThan(10);
    expect(offers).toBe(rollout?.failed);
    expect(offered(await service.decide(...many(5)))).toBe(0);
  });

  it.each([
    ["one organization", 1, "3 failures, all of one organization, the last: failed"],
    ["two organizations", 2, "3 failures, the last: failed"],
  ])("report whether a rollout was halted by devices of %s", async (_, organizations, reason) => {
    const version = `2.3.${organizations}`;
    await service.release(version, { haltFailures: 2 });
    const { orgId, partnerId } = service.question().device;
    const own = { orgId, partnerId };
    for (const owner of [own, own, organizations === 1 ? own : {}]) {
      const question = service.question({}, owner);
      expect(offered(await service.decide(question))).toBe(1);
      await service.decide(running(question, "1.0.0", failed(version)));
    }
    expect(await service.rollout(version)).toMatchObject({ state: "halted", failed: 3, reason });
    const [first, ...others] = (await service.lastAudit("agent_update.rollout.halt")).organizations as { id: string }[];
    expect(first).toEqual({ id: orgId, failed: 4 - organizations });
    expect(others).toHaveLength(organizations - 1);
  });

  it("count a device that returns late as a success", async () => {
    await service.release("2.4.0");
    const question = service.question();
    await service.decide(question);
    await service.decide(running(question, "1.0.0", failed("2.4.0")));
    expect(await service.rollout("2.4.0")).toMatchObject({ in_flight: 0, failed: 1, succeeded: 0 });
    await service.decide(running(question, "2.4.0"));
    expect(await service.rollout("2.4.0")).toMatchObject({ in_flight: 0, failed: 0, succeeded: 1 });
  });

  it("repeat an offer while its rollout is active and once it is completed, not after it was cancelled", async () => {
    await service.release("2.4.1");
    const [kept, dropped] = [await service.stage("2.4.2-rc.1"), await service.stage("2.4.2-rc.2")];
    const state = (id: string, to: string) =>
      service.change(sql`UPDATE rollout SET state = ${to} WHERE id = ${id}::uuid`);
    const offersOf = async (question: Question) =>
      (await service.decide(question)).answers[0]?.offers.map(({ version }) => version);
    const second = service.question();
    expect(await offersOf(second)).toEqual(["2.4.2-rc.2"]);
    await state(dropped, "cancelled");
    expect(await offersOf(second)).toEqual(["2.4.2-rc.1"]);
    const first = service.question();
    expect(await offersOf(first)).toEqual(["2.4.2-rc.1"]);
    // As to any other device.
    await state(kept, "paused");
    expect(await offersOf(first)).toEqual(["2.4.1"]);
    await state(kept, "running");
    expect(await offersOf(first)).toEqual(["2.4.2-rc.1"]);
    await service.change(sql`
      UPDATE promotion SET release_id = (SELECT release_id FROM rollout WHERE id = ${kept}::uuid) WHERE component = 'agent'`);
    await state(kept, "completed");
    expect(await offersOf(first)).toEqual(["2.4.2-rc.1"]);
  });

  it("defer a returned device until its soak is over", async () => {
    await service.release("2.5.0", { soakSeconds: 100 });
    const question = service.question();
    await service.decide(question);
    const { answers } = await service.decide(running(question, "2.5.0"));
    expect(answers[0]?.validForMs).toBeGreaterThan(90_000);
    expect(await service.rollout("2.5.0")).toMatchObject({ in_flight: 1, succeeded: 0 });
    await service.execute(
      sql`UPDATE update_attempt SET returned_at = returned_at - interval '101 seconds' WHERE version = '2.5.0'`,
    );
    await service.decide(running(question, "2.5.0"));
    expect(await service.rollout("2.5.0")).toMatchObject({ in_flight: 0, succeeded: 1 });
  });

  it("are cacheable by the gateway for a device that is up to date", async () => {
    const { answers } = await service.decide(service.question({ agent: "9.0.0" }));
    expect(answers[0]).toMatchObject({ offers: [], updating: false });
    expect(answers[0]?.validForMs).toBeGreaterThan(14 * 60_000);
  });
});

/** Moves the clock by this many seconds since every offer, with the job that ends attempts running each second. */
async function pass(seconds: number): Promise<void> {
  const by = sql`make_interval(secs => ${seconds})`;
  await service.execute(sql`
    UPDATE update_attempt SET offered_at = offered_at - ${by}, deadline = deadline - ${by}, returned_at = returned_at - ${by}
    WHERE ended_at IS NULL`);
  await service.execute(sql`UPDATE update_watch SET heard_at = clock_timestamp()`);
  await endDueOnce(service.deps);
}
const counts = async (version: string) => {
  const row = await service.rollout(version);
  return [row?.in_flight, row?.succeeded, row?.failed];
};

describe("a device with an offered update", () => {
  let last = 0;
  /** A new release with a soak, offered to one device. */
  const begin = async () => {
    const version = `2.9.${++last}`;
    await service.release(version, { soakSeconds: 120 });
    const question = service.question();
    expect(offered(await service.decide(question))).toBe(1);
    return { version, question };
  };

  it("soaks when it runs the version at 4:59, and its rollout counts it after two minutes", async () => {
    const { version, question } = await begin();
    await pass(299);
    await service.decide(running(question, version));
    expect(await counts(version)).toEqual([1, 0, 0]);
    await pass(120);
    await service.decide(running(question, version));
    expect(await counts(version)).toEqual([0, 1, 0]);
  });

  it("has failed by timeout when it runs the version at 5:01, and then counts as a late success", async () => {
    const { version, question } = await begin();
    await pass(301);
    expect(await counts(version)).toEqual([0, 0, 1]);
    await service.decide(running(question, version));
    expect(await counts(version)).toEqual([0, 1, 0]);
  });

  it("has failed when it returns at 6:00 with the old version, and gets no offer for an hour", async () => {
    const { version, question } = await begin();
    await pass(360);
    const { answers } = await service.decide(question);
    expect(answers[0]).toMatchObject({ offers: [], updating: false });
    expect(await counts(version)).toEqual([0, 0, 1]);
    await service.execute(
      sql`UPDATE update_attempt SET ended_at = ended_at - interval '1 hour' WHERE device_id = ${question.device.id}`,
    );
    expect(offered(await service.decide(question))).toBe(1);
  });

  it("has failed when it returns at 6:00 with an unknown version, and gets no further offer", async () => {
    const { version, question } = await begin();
    await pass(360);
    expect(offered(await service.decide(running(question, "nightly")))).toBe(0);
    expect(await counts(version)).toEqual([0, 0, 1]);
  });

  it("counts as no failure when it runs another version before 5:00", async () => {
    const { version, question } = await begin();
    await service.decide(running(question, "9.9.9"));
    expect(await counts(version)).toEqual([0, 0, 0]);
  });

  it("has failed when it goes back while it soaks", async () => {
    const { version, question } = await begin();
    await service.decide(running(question, version));
    await service.decide(running(question, "1.0.0"));
    expect(await counts(version)).toEqual([0, 0, 1]);
  });

  it("has failed after the soak and three intervals when it sends no heartbeat while it soaks", async () => {
    const { version, question } = await begin();
    await service.decide(running(question, version));
    await pass(299);
    expect(await counts(version)).toEqual([1, 0, 0]);
    await pass(2);
    expect(await counts(version)).toEqual([0, 0, 1]);
  });

  it("gets no further offer, and counts as no failure, when its updates are turned off meanwhile", async () => {
    const { version, question } = await begin();
    const off = { ...question, device: { ...question.device, autoUpdateEnabled: false } };
    const { answers } = await service.decide(off);
    expect(answers[0]).toMatchObject({ offers: [], updating: false });
    expect(await counts(version)).toEqual([0, 0, 0]);
  });

  it.each(["quarantined", "decommissioned"])("gets no offer when it is %s", async (status) => {
    const { question } = await begin();
    const gone = { ...question, device: { ...question.device, status } };
    expect(offered(await service.decide(gone))).toBe(0);
  });
});

describe("a release that fails", () => {
  const ramp = { startBudget: 5, firstDeviceAlone: true };
  /** One decision for each question, with the budget of a new part. */
  const ask = (...questions: Question[]) => decideForDevices({ ...service.deps, ramp }, questions);
  const org = () => ({ orgId: uuidv7(), partnerId: uuidv7() });
  const parts = (version: string) =>
    service.read<{ kind: string; name: string; reason: string }>(sql`
      SELECT p.kind, p.name, p.reason FROM rollout_part p JOIN rollout t ON t.id = p.rollout_id
      JOIN release r ON r.id = t.release_id WHERE r.version = ${version} AND p.halted_at IS NOT NULL ORDER BY p.kind`);
  /** Offers the version to devices of that kind one by one; they end as given. */
  const end = async (version: string, outcomes: string, device: object) => {
    for (const each of outcomes) {
      const question = service.question({}, device);
      expect(offered(await service.decide(question))).toBe(1);
      await service.decide(each === "f" ? running(question, "1.0.0", failed(version)) : running(question, version));
    }
  };

  it("halts at 3 of the first 5, and not at 1 of 2", async () => {
    await service.release("2.9.90");
    await end("2.9.90", "fs", org());
    expect(await service.rollout("2.9.90")).toMatchObject({ state: "running" });
    await end("2.9.90", "sff", org());
    expect(await service.rollout("2.9.90")).toMatchObject({ state: "halted", failed: 3, succeeded: 2 });
  });

  it("halts for the organization on which it fails, and goes on for all others", async () => {
    await service.release("2.9.91");
    const [good, bad] = [org(), org()];
    await end("2.9.91", "s".repeat(40), good);
    await end("2.9.91", "fff", bad);
    const reason = "halted for one organization: 3 of 3 updates failed, the last: failed";
    expect(await service.rollout("2.9.91")).toMatchObject({ state: "running", reason });
    expect(await parts("2.9.91")).toEqual([
      { kind: "organization", name: bad.orgId, reason: "3 of 3 updates failed, the last: failed" },
    ]);
    expect(offered(await service.decide(service.question({}, bad), service.question({}, good)))).toBe(1);
    expect(await service.lastAudit("agent_update.rollout.halt")).toMatchObject({ orgId: bad.orgId, failed: 3 });
  });

  it("halts for the system on which it fails", async () => {
    await service.release("2.9.92");
    await service.execute(sql`
      INSERT INTO artifact (release_id, os, arch, name, size, sha256, stored)
      SELECT id, 'linux', 'arm64', 'other', 1, ${"b".repeat(64)}, false FROM release WHERE version = '2.9.92'`);
    await service.change(sql`UPDATE release SET yanked_at = NULL WHERE version = '2.9.92'`);
    await end("2.9.92", "s".repeat(40), {});
    await end("2.9.92", "fff", { arch: "arm64" });
    expect(await parts("2.9.92")).toMatchObject([{ kind: "platform", name: "linux/arm64" }]);
    expect(offered(await service.decide(service.question({}, { arch: "arm64" }), service.question()))).toBe(1);
  });

  it("reaches five devices before its first success, and twice as many with each", async () => {
    await service.release("2.9.93");
    const own = org();
    const fleet = Array.from({ length: 30 }, () => service.question({}, own));
    const first = (await ask(...fleet)).answers.flatMap(({ offers }, at) => (offers.length > 0 ? [fleet[at]] : []));
    expect(first).toHaveLength(5);
    await ask(...first.slice(0, 1).map((question) => running(question as Question, "2.9.93")));
    expect(offered(await ask(...fleet.filter((each) => !first.includes(each))))).toBe(6);
  });

  it("in a staged rollout reaches one device of each system alone until its update has ended", async () => {
    await service.stage("2.9.94-rc.1");
    const [a, b] = [service.question(), service.question()];
    expect(offered(await ask(a, b))).toBe(1);
    expect(offered(await ask(b))).toBe(0);
    await ask(running(a, "1.0.0", failed("2.9.94-rc.1")));
    expect(offered(await ask(b))).toBe(1);
    await service.change(sql`UPDATE rollout SET state = 'cancelled' WHERE kind = 'staged'`);
  });
});

describe("an update that downloads", () => {
  const downloading = (question: Question, version: string, bytes: number) =>
    running(question, "1.0.0", {
      component: "agent",
      version,
      state: "downloading",
      error: "",
      bytesDone: BigInt(bytes),
    });

  it("has five minutes after each report with more bytes, and an hour at most", async () => {
    const version = "2.10.0";
    await service.release(version);
    const question = service.question();
    await service.decide(question);
    for (let minutes = 4; minutes < 60; minutes += 4) {
      await pass(240);
      expect(offered(await service.decide(downloading(question, version, minutes)))).toBe(1);
    }
    await pass(200);
    expect(await counts(version)).toEqual([1, 0, 0]);
    await service.decide(downloading(question, version, 100));
    await pass(41);
    expect(await counts(version)).toEqual([0, 0, 1]);
  });

  it("has no more time when it reports the same bytes again", async () => {
    const version = "2.10.1";
    await service.release(version);
    const question = service.question();
    await service.decide(question);
    await service.decide(downloading(question, version, 5));
    await pass(240);
    await service.decide(downloading(question, version, 5));
    await pass(61);
    expect(await counts(version)).toEqual([0, 0, 1]);
  });
});

describe("an update of a paused rollout", () => {
  const inState = (version: string, to: string) =>
    service.change(sql`
      UPDATE rollout SET state = ${to}, paused_at = CASE WHEN ${to} = 'paused' THEN clock_timestamp() END
      WHERE release_id = (SELECT id FROM release WHERE version = ${version})`);

  it("does not fail by silence, and does not succeed by time, until the rollout is resumed", async () => {
    const version = "2.11.0";
    await service.release(version, { soakSeconds: 120 });
    const [silent, soaking] = [service.question(), service.question()];
    await service.decide(silent, soaking);
    const report: Report = { component: "agent", version, state: "installing", error: "" };
    await service.decide(running(silent, "1.0.0", report), running(soaking, version));
    await inState(version, "paused");
    await pass(3_600);
    await service.decide(running(soaking, version));
    expect(await counts(version)).toEqual([2, 0, 0]);
    await inState(version, "running");
    await service.decide(running(soaking, version));
    await pass(1);
    expect(await counts(version)).toEqual([0, 1, 1]);
  });
});

describe("an offered update that the agent has not started", () => {
  const manual = ({ device: { partnerId } }: Question) =>
    service.changeSettings(
      partnerId,
      sql`
      INSERT INTO update_settings (partner_id, update_policy, updated_at) VALUES (${partnerId}::uuid, 'manual', now())`,
    );
  let last = 0;
  const begin = async () => {
    const version = `2.13.${++last}`;
    await service.release(version);
    const question = service.question();
    expect(offered(await service.decide(question))).toBe(1);
    return { version, question };
  };
  const says = (question: Question, version: string, state: string) =>
    running(question, "1.0.0", { component: "agent", version, state, error: "" });

  it("is withdrawn when the policy becomes manual: not counted, and the device updates no more", async () => {
    const { version, question } = await begin();
    await manual(question);
    const { answers } = await service.decide(question);
    expect(answers[0]).toMatchObject({ offers: [], updating: false, ended: true });
    expect(service.ended).toContain(question.device.id);
    expect(await counts(version)).toEqual([0, 0, 0]);
  });

  it("is replaced by a newer target with one heartbeat", async () => {
    const { version, question } = await begin();
    await service.release(`2.13.${++last}`);
    const { answers } = await service.decide(question);
    expect(answers[0]).toMatchObject({ offers: [{ version: `2.13.${last}` }], updating: true, ended: false });
    expect(await counts(version)).toEqual([0, 0, 0]);
    expect(await counts(`2.13.${last}`)).toEqual([1, 0, 0]);
  });

  it("counts as a success when it was withdrawn and the device installs it all the same, once", async () => {
    const { version, question } = await begin();
    await manual(question);
    await service.decide(question);
    for (const _ of [1, 2]) await service.decide(running(question, version));
    expect(await counts(version)).toEqual([0, 1, 0]);
  });

  it("is no failure when it was withdrawn and the device is silent", async () => {
    const { version, question } = await begin();
    await manual(question);
    await service.decide(question);
    await pass(3_600);
    expect(await counts(version)).toEqual([0, 0, 0]);
  });

  it("is repeated whatever changes once the agent reports that it has started, and then fails by silence", async () => {
    const { version, question } = await begin();
    await service.decide(says(question, version, "downloading"));
    await manual(question);
    expect(offered(await service.decide(question))).toBe(1);
    await pass(301);
    expect(await counts(version)).toEqual([0, 0, 1]);
  });

  it("is repeated under the policy manual when it was requested, also after a locked file, until it has ended", async () => {
    const version = `2.13.${++last}`;
    await service.release(version);
    const question = service.question();
    await manual(question);
    const { id, orgId, partnerId } = question.device;
    await service.execute(sql`
      INSERT INTO update_request (device_id, org_id, partner_id, requested_by, expires_at)
      VALUES (${id}::uuid, ${orgId}::uuid, ${partnerId}::uuid, 'test', now() + interval '1 day')`);
    for (const state of ["", "", "locked"]) {
      expect(offered(await service.decide(state === "" ? question : says(question, version, state)))).toBe(1);
    }
    await service.decide(says(question, version, "failed"));
    const requests = await service.read(sql`SELECT FROM update_request WHERE device_id = ${id}::uuid`);
    expect(requests).toEqual([]);
  });
});

describe("a device that is silent", () => {
  const overdue = sql`UPDATE update_attempt SET deadline = clock_timestamp() - interval '1 second' WHERE ended_at IS NULL`;

  it("fails at its deadline; while no gateway is connected it does not, and its deadline is extended afterwards", async () => {
    await service.release("3.0.0");
    const question = service.question();
    await service.decide(question);
    await service.execute(overdue);
    await service.execute(sql`UPDATE update_watch SET heard_at = clock_timestamp() - interval '40 seconds'`);
    expect(await endDueOnce(service.deps)).toBe(0);
    await service.execute(sql`UPDATE update_watch SET heard_at = clock_timestamp()`);
    expect(await endDueOnce(service.deps)).toBeGreaterThan(0);
    expect(await service.rollout("3.0.0")).toMatchObject({ in_flight: 0, failed: 1 });
  });
});
