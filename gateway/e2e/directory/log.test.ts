import { randomUUID } from "node:crypto";
import { expect, it } from "@jest/globals";
import { until } from "@muster/testing";
import { ownTenant } from "../support/own-tenant.ts";
import { entraUser, newDirectory, patchOf, scimClient } from "../support/scim.ts";

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
