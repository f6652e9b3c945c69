import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { until } from "@muster/testing";
import pg from "pg";
import { type LentCluster, lendMs, lentCluster } from "../support/lent-cluster.ts";
import { manyUsers } from "../support/many-users.ts";
import { newDirectory } from "../support/scim.ts";
import { tenantWithAdmins } from "../support/tenant-with-admins.ts";
import { roleId } from "../support/users.ts";

const users = 1_000;
const startMs = 60_000;

let cluster: LentCluster;
let owner: pg.Client;
let holder: pg.Client;

beforeAll(async () => {
  cluster = await lentCluster("killed");
  const { databaseUrl } = await cluster.stack();
  [owner, holder] = [databaseUrl, databaseUrl].map((connectionString) => new pg.Client({ connectionString })) as [
    pg.Client,
    pg.Client,
  ];
  await Promise.all([owner.connect(), holder.connect()]);
}, lendMs);
afterAll(async () => {
  await Promise.all([owner?.end(), holder?.end()]);
  await cluster?.giveBack();
});

async function count(text: string, values: unknown[]): Promise<number> {
  const { rows } = await owner.query<{ n: number }>(text, values);
  return rows[0]?.n ?? -1;
}

describe("a mapping that changes the roles of many users", () => {
  it("is applied to all of them, each once, when the process is killed between batches", async () => {
    const { admin } = await tenantWithAdmins(cluster);
    const directory = await newDirectory(cluster, admin.api);
    const group = await directory.scim("POST", "/Groups", { displayName: "Everybody" });
    await manyUsers(cluster, directory.id, String(group.body.id), users);
    const wanted = { groupId: group.body.id, roleId: await roleId(admin.api, "org-admin") };
    const pending = () =>
      count("SELECT count(*)::int AS n FROM identity.pending_roles WHERE directory_id = $1", [directory.id]);
    const withRole = () =>
      count(
        `SELECT count(*)::int AS n FROM identity.users u JOIN identity.scim_users t ON t.user_id = u.id
         WHERE t.directory_id = $1 AND u.role_id = $2`,
        [directory.id, wanted.roleId],
      );

    // A user of a later batch is locked: the process waits there, between two batches that commit.
    await holder.query("BEGIN");
    await holder.query(
      `SELECT FROM identity.users WHERE id =
         (SELECT user_id FROM identity.scim_users WHERE directory_id = $1 ORDER BY user_id OFFSET $2 LIMIT 1) FOR UPDATE`,
      [directory.id, users / 2],
    );
    const put = admin.api
      .call("PUT", `/directories/${directory.id}/mappings`, { mappings: [wanted] })
      .catch(() => null);
    await until("batches before the locked user", async () => (await withRole()) > 0, startMs);
    const left = await pending();
    expect([left > 0, left < users]).toEqual([true, true]);

    const before = (await cluster.stack()).services.identity?.pid ?? 0;
    process.kill(before, "SIGKILL");
    await put;
    await holder.query("ROLLBACK");
    await until(
      "no pending role",
      async () => (await admin.api.call("GET", `/directories/${directory.id}`)).body.rolesPending === 0,
      startMs,
    );
    expect([await pending(), await withRole()]).toEqual([0, users]);
    const audited = async () => {
      const { body } = await admin.api.call("GET", "/audit-logs/logs?action=user.permission.change&limit=1");
      return (body.pagination as { total: number }).total;
    };
    await until("an audit row for each user", async () => (await audited()) === users, startMs);
  }, 240_000);
});
