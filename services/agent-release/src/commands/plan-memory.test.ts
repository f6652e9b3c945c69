import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Statement, sql, type Tx } from "@muster/db";
import { systemCaller, uuidv7 } from "@muster/kit";
import { service as name } from "../config.ts";
import { nothingSet } from "../rules/settings.ts";
import { bumpPlan } from "../store/plan.ts";
import { putSettings } from "../store/settings.ts";
import { releaseSigner, startRelease, type TestRelease } from "../testing/release.ts";
import { createPlanMemory } from "./plan-memory.ts";

const who = { caller: systemCaller(name) };

let service: TestRelease;
beforeAll(async () => {
  service = await startRelease();
});
afterAll(() => service?.stop());

/** Holds a transaction back once it has read from `table`, until it may go on. */
function holdingBack(table: string) {
  let arrive = () => {};
  let go = () => {};
  const arrived = new Promise<void>((resolve) => {
    arrive = resolve;
  });
  const gone = new Promise<void>((resolve) => {
    go = resolve;
  });
  const held = (tx: Tx): Tx => ({
    ...tx,
    async query<R>(statement: Statement) {
      const rows = await tx.query<R>(statement);
      if ("text" in statement && statement.text.includes(table)) {
        arrive();
        await gone;
      }
      return rows;
    },
  });
  return { held, arrived, go: () => go() };
}

const pin = (partnerId: string, agentTarget: string) =>
  service.deps.db.tx(who, async (tx) => {
    await putSettings(tx, { partnerId, orgId: null }, { ...nothingSet, agentTarget }, new Date());
    await bumpPlan(tx, { scope: "partner", id: partnerId });
  });

describe("a plan", () => {
  it("never has the settings that a slower transaction read before they were changed", async () => {
    const memory = createPlanMemory({ unsigned: false, keys: [releaseSigner] });
    const [partnerId, orgId] = [uuidv7(), uuidv7()];
    await pin(partnerId, "1.0.0");
    const target = async (tx: Tx) =>
      (await memory.read(tx, [partnerId])).mergedOf(partnerId, orgId).settings.agentTarget;
    const read = () => service.deps.db.tx(who, target);
    const { held, arrived, go } = holdingBack("update_settings");
    const before = service.deps.db.tx(who, (tx) => target(held(tx)));
    await arrived;
    await pin(partnerId, "2.0.0");
    expect(await read()).toBe("2.0.0");
    go();
    expect(await before).toBe("1.0.0");
    expect(await read()).toBe("2.0.0");
  });

  it("is not replaced by an older one of a slower transaction", async () => {
    const memory = createPlanMemory({ unsigned: false, keys: [releaseSigner] });
    const versions = async (tx: Tx) => (await memory.read(tx, [])).catalogue.agent.releases.map((each) => each.version);
    const read = () => service.deps.db.tx(who, versions);
    const { held, arrived, go } = holdingBack("FROM release r");
    const before = service.deps.db.tx(who, (tx) => versions(held(tx)));
    await arrived;
    await service.release("1.0.0");
    expect(await read()).toEqual(["1.0.0"]);
    go();
    expect(await before).toEqual([]);
    expect(await read()).toEqual(["1.0.0"]);
  });

  it("keeps the settings of other partners when an organization requests updates, however many", async () => {
    const memory = createPlanMemory({ unsigned: false, keys: [releaseSigner] });
    const [partnerId, orgId, neighbour] = [uuidv7(), uuidv7(), uuidv7()];
    await service.execute(sql`
      INSERT INTO tenant (kind, id, partner_id, org_id, version, status, deleted, updated_at)
      VALUES ('organization', ${orgId}, ${partnerId}, ${orgId}, 1, 'active', false, now())`);
    await pin(partnerId, "1.0.0");
    await pin(neighbour, "1.0.0");
    const read = (partners: string[]) =>
      service.deps.db.tx(who, async (tx) => {
        let reads = 0;
        const counting: Tx = {
          ...tx,
          query<R>(statement: Statement) {
            if ("text" in statement && /update_settings|FROM release r/.test(statement.text)) reads += 1;
            return tx.query<R>(statement);
          },
        };
        await memory.read(counting, partners);
        return reads;
      });
    await read([partnerId, neighbour]);
    await service.deps.db.tx(who, async (tx) => {
      for (let n = 0; n < 1_100; n++) await bumpPlan(tx, { scope: "organization", id: orgId });
    });
    expect(await read([neighbour])).toBe(0);
    expect(await read([partnerId])).toBe(1);
  });

  it("contains only the settings of the partners that it was read for", async () => {
    const plan = await service.deps.db.tx(who, (tx) =>
      createPlanMemory({ unsigned: false, keys: [releaseSigner] }).read(tx, [uuidv7()]),
    );
    expect(() => plan.mergedOf(uuidv7(), uuidv7())).toThrow("without this partner's settings");
  });
});
