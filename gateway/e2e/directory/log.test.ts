import { randomUUID } from "node:crypto";
import { expect, it } from "@jest/globals";
import { until } from "@muster/testing";
import { ownTenant } from "../support/own-tenant.ts";
import { asDatabaseOwner } from "../support/owner-rows.ts";
import { entraUser, newDirectory, patchOf, scimClient, scimError } from "../support/scim.ts";

const { cluster, tenant, call } = ownTenant();

type Logged = {
  operation: string;
  resourceId: string | null;
  filter: string | null;
  answer: string;
  scimType: string | null;
};

it("logs what a directory asked and how it was answered, without values, and counts its cycle", async () => {
  const { id, scim } = await newDirectory(cluster, tenant.admin.api);
  const secret = randomUUID();
  const made = await scim("POST", "/Users", entraUser(`${secret}@log.example`));
  await scim("POST", "/Users", entraUser(`${secret}@log.example`));
  await scim("GET", `/Users?${new URLSearchParams({ filter: `userName eq "${secret}@log.example"` })}`);
  await scim("GET", `/Users?${new URLSearchParams({ filter: `shoeSize eq "${secret}"` })}`);
  await scim("PATCH", `/Users/${made.body.id}`, patchOf({ op: "replace", path: "title", value: secret }));
  await scim("DELETE", `/Users/${made.body.id}`);
  await scimClient(cluster, `scim_${"x".repeat(43)}`)("GET", "/Users");
  const logged = await until("six requests", async () => {
    const { body } = await call("GET", `/directories/${id}/requests`);
    return (body.data?.length ?? 0) >= 6 ? body : null;
  });
  expect(JSON.stringify(logged)).not.toContain(secret);
  const rows = logged.data as Logged[];
  expect(rows.map(({ operation, answer, scimType }) => [operation, answer, scimType])).toEqual([
    ["DELETE /Users/:id", "ok", null],
    ["PATCH /Users/:id", "ok", null],
    ["GET /Users", "scim_invalid", "invalidFilter"],
    ["GET /Users", "ok", null],
    ["POST /Users", "scim_uniqueness", "uniqueness"],
    ["POST /Users", "ok", null],
  ]);
  expect(rows.map(({ resourceId }) => resourceId)).toEqual([
    made.body.id,
    made.body.id,
    null,
    null,
    null,
    made.body.id,
  ]);
  expect(rows[3]?.filter).toBe('userName eq "…"');
  const refused = await call("GET", `/directories/${id}/requests?refused=true`);
  expect(refused.body.pagination).toMatchObject({ total: 2 });
  expect((await call("GET", `/directories/${id}`)).body.lastCycle).toMatchObject({
    requests: 6,
    refused: 2,
    created: 1,
    changed: 1,
    deleted: 1,
  });
});

/** What a directory asked and how it was answered, once there are `count` rows; the newest first. */
async function answersOf(id: string, count: number): Promise<[string, string][]> {
  const rows = await until(`${count} requests`, async () => {
    const { body } = await call("GET", `/directories/${id}/requests`);
    const found = (body.data ?? []) as Logged[];
    return found.length >= count ? found : null;
  });
  return rows.map(({ operation, answer }) => [operation, answer]);
}

it("logs what the gateway refuses, requests while paused, and the use of a token after its rotation", async () => {
  const { id, scim } = await newDirectory(cluster, tenant.admin.api);
  expect(scimError(await scim("POST", "/Users", "{"))).toEqual([400, "invalidSyntax", true]);
  expect((await answersOf(id, 1))[0]).toEqual(["POST /Users", "invalid_json"]);
  expect((await call("POST", `/directories/${id}/status`, { status: "paused" })).status).toBe(200);
  expect(scimError(await scim("GET", "/Groups"))).toEqual([503, null, true]);
  expect((await answersOf(id, 2))[0]).toEqual(["GET /Groups", "directory_paused"]);
  expect((await call("POST", `/directories/${id}/status`, { status: "active" })).status).toBe(200);
  expect((await call("POST", `/directories/${id}/tokens`, { graceHours: 1 })).status).toBe(201);
  const elapse =
    "UPDATE identity.directory_tokens SET expires_at = now() WHERE directory_id = $1 AND expires_at > now()";
  await asDatabaseOwner(cluster, elapse, [id]);
  expect(scimError(await scim("DELETE", `/Users/${randomUUID()}`))).toEqual([401, null, true]);
  expect((await answersOf(id, 3))[0]).toEqual(["DELETE /Users/:id", "directory_token_invalid"]);
});
