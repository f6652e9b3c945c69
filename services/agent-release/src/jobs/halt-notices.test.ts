import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { sql } from "@muster/db";
import { systemCaller, uuidv7 } from "@muster/kit";
import type { Notification } from "@muster/service";
import { haltRollout } from "../commands/halt.ts";
import type { AttemptRow } from "../store/attempts.ts";
import { lockRollouts, updateRollout } from "../store/rollouts.ts";
import { startRelease, type TestRelease } from "../testing/release.ts";
import { passHaltNotices } from "./halt-notices.ts";

let service: TestRelease;
beforeAll(async () => {
  service = await startRelease();
});
afterAll(() => service?.stop());

/** A rollout that halts; its id. */
async function halted(version: string, partnerId: string | null = null): Promise<string> {
  const id = await service.stage(version, { partner_id: partnerId });
  await service.deps.db.tx({ caller: systemCaller("agent-release") }, async (tx) => {
    const [row] = await lockRollouts(tx, [id]);
    if (!row) throw new Error("no rollout");
    row.failed = 3;
    await haltRollout(tx, row, { component: "agent", version } as AttemptRow, "silent", new Date());
    await updateRollout(tx, row, new Date());
  });
  return id;
}

function passing(fails = 0) {
  const passed: Notification[] = [];
  let left = fails;
  const notify = async (notice: Notification) => {
    passed.push(notice);
    if (left-- > 0) throw new Error("identity is away");
    return "allowed" as const;
  };
  const pass = (now = new Date()) =>
    passHaltNotices({ db: service.deps.db, log: service.deps.log, now: () => now, notify });
  return { passed, pass };
}
const waiting = () => service.read<{ id: string }>(sql`SELECT id FROM halt_notice`);
const due = () => service.execute(sql`UPDATE halt_notice SET next_at = now()`);

describe("the notice of a halted rollout", () => {
  it("goes to identity once, with the reason and the page of the rollout", async () => {
    const id = await halted("1.1.0");
    const { passed, pass } = passing();
    expect([await pass(), await pass()]).toEqual([1, 0]);
    const line = "agent 1.1.0: 3 failures, the last: silent";
    const link = `/releases/rollouts/${id}`;
    const administrators = { permission: "platform:admin", orgId: null, partnerId: null, to: "platform" };
    expect(passed).toMatchObject([{ kind: "rollout_halted", line, link, ...administrators }]);
    expect(await waiting()).toEqual([]);
  });

  it("goes to a partner's own people for its rollout", async () => {
    const partnerId = uuidv7();
    await halted("1.1.1", partnerId);
    const { passed, pass } = passing();
    await pass();
    expect(passed).toMatchObject([{ permission: "partner:policy", orgId: null, partnerId, to: "partner" }]);
  });

  it("waits while identity is away, and is repeated under its id", async () => {
    await halted("1.2.0");
    const { passed, pass } = passing(1);
    expect(await pass()).toBe(0);
    expect(await pass()).toBe(0);
    expect(passed).toHaveLength(1);
    await due();
    expect(await pass()).toBe(1);
    expect(passed[1]).toEqual(passed[0]);
  });

  it("is dropped after a day without identity", async () => {
    await halted("1.3.0");
    const { pass } = passing(1);
    expect(await pass(new Date(Date.now() + 86_500_000))).toBe(0);
    expect(await waiting()).toEqual([]);
  });
});
