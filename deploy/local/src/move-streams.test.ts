import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { type Bus, openBus } from "@muster/bus";
import { createLogger } from "@muster/kit";
import { testNats } from "@muster/testing";
import { moveStreams } from "./move-streams.ts";

const log = createLogger("test", "silent");
let store: string;
beforeEach(() => {
  store = mkdtempSync(join(tmpdir(), "muster-streams-"));
});
afterEach(() => rmSync(store, { recursive: true, force: true }));

const has = (...path: string[]) => existsSync(join(store, "jetstream", ...path));
const put = (account: string, stream: string) => {
  mkdirSync(join(store, "jetstream", account, "streams", stream), { recursive: true });
  writeFileSync(join(store, "jetstream", account, "streams", stream, "meta.inf"), account);
};

describe("streams of a store without accounts", () => {
  it("move to the accounts of their names; AUTH goes", () => {
    for (const stream of ["AUDIT", "TENANCY", "AUTH"]) put("$G", stream);
    expect(moveStreams(store).sort()).toEqual(["AUDIT", "TENANCY"]);
    expect(has("AUDIT", "streams", "AUDIT", "meta.inf")).toBe(true);
    expect(has("TENANCY", "streams", "TENANCY", "meta.inf")).toBe(true);
    expect(readdirSync(join(store, "jetstream", "$G", "streams"))).toEqual([]);
  });

  it("stay where an account has its stream already, and where there are none", () => {
    expect(moveStreams(store)).toEqual([]);
    for (const account of ["$G", "AUDIT"]) put(account, "AUDIT");
    expect(moveStreams(store)).toEqual([]);
    expect(has("$G", "streams", "AUDIT", "meta.inf")).toBe(true);
  });

  it("keep their messages and their creation time", async () => {
    const nats = await testNats();
    const open = async (): Promise<Bus> => {
      const bus = await openBus({ servers: nats.url, seed: nats.seeds.audit, name: "audit", replicas: 1, log });
      await bus.ensureStream("CHECKPOINTS");
      return bus;
    };
    try {
      const before = await open();
      const message = { subject: "checkpoints.one", msgId: "one", body: new TextEncoder().encode("kept") };
      const { created } = await before.transport.publish(message);
      await before.close();
      await nats.stop();
      const accounts = join(nats.storeDir, "jetstream");
      // What a server without accounts left: the same files, in the global account.
      mkdirSync(join(accounts, "$G"), { recursive: true });
      renameSync(join(accounts, "CHECKPOINTS", "streams"), join(accounts, "$G", "streams"));
      expect(moveStreams(nats.storeDir)).toEqual(["CHECKPOINTS"]);
      await nats.start();
      const after = await open();
      expect(await after.newest("CHECKPOINTS", "checkpoints.one")).toEqual(message.body);
      expect((await after.transport.publish({ ...message, msgId: "two" })).created).toBe(created);
      await after.close();
    } finally {
      await nats.remove();
    }
  });
});
