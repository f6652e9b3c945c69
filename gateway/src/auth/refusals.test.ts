import { describe, expect, it } from "@jest/globals";
import { AppError, createLogger, systemCaller } from "@muster/kit";
import { until } from "@muster/testing";
import type { Credential } from "../route/credential.ts";
import { createRefusals } from "./refusals.ts";

const log = createLogger("refusals-test", "fatal");
const rest = { resourceType: "", orgId: "", code: "permission_denied", message: "Permission denied", factsJson: "{}" };
const credentialOf = (id: string, orgId: string | null) => {
  const caller = { ...systemCaller("gateway"), orgId };
  return { kind: "session", id, caller: { ...caller, actor: { ...caller.actor, id } } } as unknown as Credential;
};

function recorder(answer: () => Promise<unknown> = async () => ({})) {
  const reported: string[] = [];
  let now = 0;
  const refusals = {
    noteRefusal: async ({ action = "", id = "" }) => {
      reported.push(`${action} ${id}`);
      return (await answer()) as never;
    },
  };
  const note = createRefusals({ refusals, log, now: () => now });
  return {
    reported,
    later: () => {
      now += 60_000;
    },
    note: (actor: string, action: string, orgId: string | null = null) =>
      note({ refusal: { action, id: actor, ...rest }, credential: credentialOf(actor, orgId), rpc: async () => ({}) }),
  };
}
const settled = () => new Promise((resolve) => setImmediate(resolve));

describe("refused changes", () => {
  it("are reported once per actor, action and minute", async () => {
    const { reported, note, later } = recorder();
    for (let i = 0; i < 100; i++) note("a", "user.create");
    note("a", "role.create");
    note("b", "user.create");
    await settled();
    expect(reported).toEqual(["user.create a", "role.create a", "user.create b"]);
    later();
    note("a", "user.create");
    await settled();
    expect(reported).toHaveLength(4);
  });

  it("are reported again when identity could not be reached", async () => {
    const { reported, note } = recorder(() => Promise.reject(new AppError("unavailable", "away")));
    note("a", "user.create");
    await settled();
    note("a", "user.create");
    await settled();
    expect(reported).toHaveLength(2);
  });

  it("from one organization leave calls to the reports of others", async () => {
    const { reported, note } = recorder(() => new Promise(() => {}));
    for (let i = 0; i < 50; i++) note(`p${i}`, "user.create", "busy");
    note("other", "user.create", "quiet");
    await settled();
    expect(reported).toHaveLength(11);
    expect(reported).toContain("user.create other");
  });

  it("are reported with at most 20 calls in flight, and later ones after those", async () => {
    let release: (value: unknown) => void = () => {};
    const held = new Promise((resolve) => {
      release = resolve;
    });
    const { reported, note } = recorder(() => held);
    for (let i = 0; i < 50; i++) note(`p${i}`, "user.create");
    await settled();
    expect(reported).toHaveLength(20);
    for (let i = 0; i < 50; i++) note(`p${i}`, "user.create");
    release({});
    await settled();
    expect(reported).toHaveLength(50);
    expect(new Set(reported).size).toBe(50);
  });

  it("are dropped beyond what may wait, of one organization half of it, and reported when they are tried again", async () => {
    let release: (value: unknown) => void = () => {};
    const held = new Promise((resolve) => {
      release = resolve;
    });
    const { reported, note } = recorder(() => held);
    const tryAll = () => {
      for (let i = 0; i < 600; i++) note(`p${i}`, "user.create", "busy");
    };
    tryAll();
    note("other", "user.create", "quiet");
    await settled();
    expect(reported).toContain("user.create other");
    release({});
    await until("those that waited", async () => reported.length >= 511);
    expect(reported).toHaveLength(511);
    tryAll();
    await until("the others", async () => reported.length >= 601);
    expect(new Set(reported).size).toBe(601);
  });
});
