import { create } from "@bufbuild/protobuf";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { createLogger } from "@muster/kit";
import { type DeviceFacts, DeviceFactsSchema } from "@muster/proto/muster/common/v1/device_pb";
import {
  DecideResponseSchema,
  ListChangesResponseSchema,
  type PlanChange,
  PlanChangeSchema,
} from "@muster/proto/muster/release/v1/update_pb";
import { createUpdateAnswers, type UpdateAnswers } from "./update-answers.ts";

let nowMs: number;
let decided: string[][];
let decide: () => Promise<{ validForMs: bigint }>;
let changes: PlanChange[];
let epoch: bigint;
let updates: UpdateAnswers;

beforeEach(() => {
  [nowMs, decided, changes, epoch] = [1_000, [], [], 7n];
  decide = async () => ({ validForMs: 60_000n });
  updates = createUpdateAnswers({
    updates: {
      async decide({ devices = [] }) {
        decided.push(devices.map(({ device }) => device?.id ?? ""));
        const { validForMs } = await decide();
        return create(DecideResponseSchema, { epoch, answers: devices.map(() => ({ validForMs })) });
      },
      listChanges: async () => create(ListChangesResponseSchema, { epoch, changes }),
    },
    call: async () => ({}),
    max: 100,
    log: createLogger("test", "fatal"),
    nowMs: () => nowMs,
  });
});
afterEach(() => updates.stop());

const device = (id: string): DeviceFacts => create(DeviceFactsSchema, { id, orgId: "o", partnerId: "p", version: 3n });
const change = (scope: string, id = "") => {
  epoch += 1n;
  changes = [create(PlanChangeSchema, { epoch, scope, id })];
  return updates.refresh();
};
const never = () => new Promise<{ validForMs: bigint }>(() => undefined);

describe("an answer of `nothing to do`", () => {
  it("is cached with the version of the device's row for its lifetime", async () => {
    expect(updates.wanted("a")).toBe("any");
    await updates.request(device("a"), null);
    expect(updates.wanted("a")).toEqual({ otherThan: 3n });
    nowMs += 60_000;
    expect(updates.wanted("a")).toBe("any");
  });

  it.each([
    ["all", "", "any"],
    ["organization", "o", "any"],
    ["partner", "p", "any"],
    ["organization", "other", { otherThan: 3n }],
  ])("after a change of %s %s wants facts: %p", async (scope, id, wanted) => {
    await updates.request(device("a"), null);
    await change(scope, id);
    expect(updates.wanted("a")).toEqual(wanted);
  });

  it("is not cached when the device must be checked again", async () => {
    decide = async () => ({ validForMs: 0n });
    await updates.request(device("a"), null);
    expect(updates.wanted("a")).toBe("any");
  });
});

describe("an agent-release that does not respond", () => {
  it("is called by single heartbeats, with growing backoff, while the others do not wait", async () => {
    decide = never;
    expect(await Promise.all([updates.request(device("a"), null), updates.request(device("b"), null)])).toEqual([
      null,
      null,
    ]);
    expect(decided).toEqual([["a", "b"]]);
    expect([updates.wanted("c"), await updates.request(device("c"), null)]).toEqual(["none", null]);
    expect(decided).toHaveLength(1);
    nowMs += 1_001;
    // One heartbeat calls; concurrent ones are answered without updates.
    const answered: string[] = [];
    const probe = updates.request(device("d"), null).finally(() => answered.push("d"));
    expect(await updates.request(device("e"), null).finally(() => answered.push("e"))).toBeNull();
    expect(answered).toEqual(["e"]);
    expect(await probe).toBeNull();
    expect(decided).toEqual([["a", "b"], ["d"]]);
    // The backoff is two seconds.
    nowMs += 1_001;
    expect(await updates.request(device("f"), null)).toBeNull();
    expect(decided).toHaveLength(2);
  });

  it("is called by every heartbeat again once it has answered in time", async () => {
    decide = async () => {
      throw new Error("away");
    };
    await updates.request(device("a"), null);
    nowMs += 1_001;
    decide = async () => ({ validForMs: 60_000n });
    expect(await updates.request(device("b"), null)).toMatchObject({ validForMs: 60_000n });
    await Promise.all([updates.request(device("c"), null), updates.request(device("d"), null)]);
    expect(decided.at(-1)).toEqual(["c", "d"]);
  });
});
