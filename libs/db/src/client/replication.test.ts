import { describe, expect, it } from "@jest/globals";
import { testDatabase } from "../testing/test-database.ts";
import type { Database } from "./database.ts";
import { replicationOf } from "./replication.ts";

const saying = (commit: string, standbys: string) =>
  ({ name: "tenancy", read: async () => [{ commit, standbys }] }) as unknown as Database;

describe("replication", () => {
  it.each([
    ["on", "standby1", true, "synchronous standby: standby1"],
    ["remote_apply", "ANY 1 (a, b)", true, "synchronous standby: ANY 1 (a, b)"],
    ["local", "standby1", false, "synchronous_commit is local: no standby is waited for"],
    ["on", "", false, "no synchronous standby (synchronous_standby_names is empty)"],
  ])(
    "with synchronous_commit %s and standbys '%s' is synchronous: %s",
    async (commit, standbys, isSynchronous, found) => {
      expect(await replicationOf(saying(commit, standbys))).toEqual({ isSynchronous, found });
    },
  );

  it("is reported to the application's role by a single server", async () => {
    const test = await testDatabase({ service: "tenancy", dirs: [] });
    try {
      expect(await replicationOf(test.db)).toMatchObject({ isSynchronous: false });
    } finally {
      await test.drop();
    }
  });
});
