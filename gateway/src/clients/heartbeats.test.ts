import { describe, expect, it } from "@jest/globals";
import { until } from "@muster/testing";
import { createHeartbeats } from "./heartbeats.ts";

/** Tenancy that answers a device of the table with its statuses one after the other, any other with `online`. */
function heartbeatsAt(statuses: Record<string, string[]>) {
  const calls: string[][] = [];
  const options = {
    presence: {
      recordHeartbeats: async ({ heartbeats }: { heartbeats?: { deviceId?: string }[] }) => {
        const ids = (heartbeats ?? []).map(({ deviceId }) => deviceId as string);
        calls.push(ids);
        return {
          results: ids.map((id) => ({ status: statuses[id]?.shift() ?? "online" })),
          heartbeatIntervalSeconds: 60,
        };
      },
    },
    updates: { wanted: () => "any" },
    call: async () => ({}),
    rethrow: (thrown: unknown): never => {
      throw thrown;
    },
  } as unknown as Parameters<typeof createHeartbeats>[0];
  const heartbeats = createHeartbeats(options);
  return { calls, beat: async (deviceId: string) => (await heartbeats({ deviceId }, null)).status };
}

describe("the update state of a device", () => {
  it("is stored when the decision differs from the record, and only then", async () => {
    const stored: unknown[] = [];
    const decided: Record<string, string> = { a: "behind", b: "current", c: "" };
    const options = {
      presence: {
        recordHeartbeats: async ({ heartbeats }: { heartbeats?: { deviceId?: string }[] }) => ({
          results: (heartbeats ?? []).map(({ deviceId: id }) => ({
            status: "online",
            facts: { id, updateState: "current" },
          })),
          heartbeatIntervalSeconds: 60,
        }),
        recordUpdateStates: async ({ states }: { states?: unknown[] }) => {
          stored.push(...(states ?? []));
          throw new Error("tenancy is away");
        },
      },
      updates: {
        wanted: () => "any",
        request: async ({ id }: { id: string }) => ({ offers: [], updateState: decided[id] }),
      },
      call: async () => ({}),
    } as unknown as Parameters<typeof createHeartbeats>[0];
    const heartbeats = createHeartbeats(options);
    // What cannot be stored fails no heartbeat.
    await Promise.all(["a", "b", "c"].map((deviceId) => heartbeats({ deviceId }, null)));
    await until("the states to be stored", async () => stored.length > 1);
    expect(stored).toEqual([
      { deviceId: "a", state: "behind" },
      { deviceId: "c", state: "" },
    ]);
  });
});

describe("a heartbeat of a device that a transaction holds", () => {
  it("is repeated alone: the others of its batch are answered immediately", async () => {
    const { calls, beat } = heartbeatsAt({ held: ["locked", "locked"] });
    const [held, ...others] = ["held", "b", "c"].map(beat);
    expect(await Promise.all(others)).toEqual(["online", "online"]);
    expect(calls).toEqual([["held", "b", "c"]]);
    expect(await held).toBe("online");
    expect(calls.slice(1)).toEqual([["held"], ["held"]]);
  });

  it("is answered 503 when that lasts", async () => {
    const { calls, beat } = heartbeatsAt({ held: new Array(9).fill("locked") });
    await expect(beat("held")).rejects.toMatchObject({ code: "overloaded", retryAfterSeconds: 5 });
    expect(calls).toHaveLength(4);
  });
});
