import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { sql } from "@muster/db";
import { signNote } from "@muster/kit";
import { releaseSigner, startRelease, type TestRelease } from "../testing/release.ts";
import type { Question } from "./decide.ts";

let service: TestRelease;
beforeAll(async () => {
  service = await startRelease();
});
afterAll(() => service?.stop());

const offersOf = async (question: Question) => (await service.decide(question)).answers[0]?.offers;

describe("a device that runs a newer version than its pin", () => {
  const note = (change: object = {}) => {
    const fields = { component: "agent", version: "2.9.96", counter: 9, scope: "*", expires: "2100-01-01T00:00:00Z" };
    return signNote(`${JSON.stringify({ ...fields, ...change })}\n`, releaseSigner);
  };
  const pinned = async (rollbackNote: string | null) => {
    const question = service.question({ agent: "2.9.97" });
    await service.changeSettings(
      question.device.partnerId,
      sql`INSERT INTO update_settings (partner_id, agent_target, rollback_note, updated_at)
          VALUES (${question.device.partnerId}::uuid, '2.9.96', ${rollbackNote}, now())`,
    );
    return question;
  };

  it("goes back with a rollback note alone, and has succeeded when it runs the pinned version", async () => {
    await service.release("2.9.96", { counter: 8 });
    await service.release("2.9.97", { counter: 9 });
    const refused = [
      null,
      note({ version: "2.9.95" }),
      note({ counter: 8 }),
      note({ expires: "2020-01-01T00:00:00Z" }),
    ];
    for (const each of refused) expect(await offersOf(await pinned(each))).toEqual([]);
    const question = await pinned(note());
    const { answers } = await service.decide(question);
    expect(answers[0]?.offers).toMatchObject([{ version: "2.9.96", rollbackNote: note() }]);
    await service.decide({
      ...question,
      device: { ...question.device, versions: { ...question.device.versions, agent: "2.9.96" } },
    });
    expect(await service.rollout("2.9.96")).toMatchObject({ in_flight: 0, succeeded: 1, failed: 0 });
  });
});

describe("a rollout of an older version with a rollback note", () => {
  const note = (change: object = {}) => {
    const fields = { component: "agent", version: "4.0.0", counter: 21, scope: "*", expires: "2100-01-01T00:00:00Z" };
    return signNote(`${JSON.stringify({ ...fields, ...change })}\n`, releaseSigner);
  };
  const at = (question: Question, agent: string): Question => {
    return { ...question, device: { ...question.device, versions: { ...question.device.versions, agent } } };
  };

  it("takes its devices back, whatever is promoted, until it ends; a lower counter or another key takes nobody", async () => {
    const id = await service.stage("4.0.0", {}, 20);
    await service.release("4.1.0", { counter: 21 });
    const question = service.question({ agent: "4.1.0" });
    expect(await offersOf(question)).toEqual([]);
    const setNote = (text: string | null) =>
      service.change(sql`UPDATE rollout SET rollback_note = ${text} WHERE id = ${id}::uuid`);
    for (const each of [
      note({ counter: 20 }),
      note({ expires: "2020-01-01T00:00:00Z" }),
      note().replace("4.0.0", "4.0.1"),
    ]) {
      await setNote(each);
      expect(await offersOf(question)).toEqual([]);
    }
    await setNote(note());
    expect(await offersOf(question)).toMatchObject([{ version: "4.0.0", rollbackNote: note() }]);
    expect(await offersOf(question)).toMatchObject([{ version: "4.0.0", rollbackNote: note() }]);
    expect(await offersOf(at(question, "4.0.0"))).toEqual([]);
    await service.change(sql`UPDATE rollout SET state = 'cancelled' WHERE id = ${id}::uuid`);
    expect(await offersOf(at(service.question(), "4.0.0"))).toMatchObject([{ version: "4.1.0", rollbackNote: null }]);
  });
});
