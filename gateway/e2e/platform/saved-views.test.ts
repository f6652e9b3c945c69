import { beforeAll, describe, expect, it } from "@jest/globals";
import { until } from "@muster/testing";
import { type Api, api, signIn } from "../support/client.ts";
import { auditedActions, newTenant } from "../support/enroller.ts";
import { sharedCluster } from "../support/shared-cluster.ts";

let root: Api;
beforeAll(async () => {
  const cluster = await sharedCluster();
  root = api(cluster, (await signIn(cluster)).accessToken);
}, 180_000);

const errorsOf = ({ body }: { body: Record<string, unknown> }) =>
  (body.details as { fieldErrors: Record<string, string[]> } | undefined)?.fieldErrors;

describe("a saved view", () => {
  it("is created, read, listed, changed and deleted, each change with its audit row", async () => {
    const { orgId } = await newTenant(root);
    const query = { status: ["offline", "quarantined"], label: "role=server" };
    const made = await root.call("POST", "/saved-views", { orgId, name: "Offline", resource: "devices", query });
    expect([made.status, made.body]).toEqual([
      201,
      expect.objectContaining({ orgId, name: "Offline", resource: "devices", query, shared: false }),
    ]);
    const path = `/saved-views/${made.body.id}`;
    expect((await root.call("GET", path)).body).toEqual(made.body);
    const listed = await root.call("GET", `/saved-views?orgId=${orgId}&resource=devices`);
    expect(listed.body.data).toEqual([made.body]);
    const changed = await root.call("PATCH", path, { query: { os: "linux" }, shared: true });
    expect([changed.status, changed.body]).toEqual([
      200,
      expect.objectContaining({ query: { os: "linux" }, shared: true, name: "Offline" }),
    ]);
    expect((await root.call("DELETE", path)).body).toEqual({ success: true });
    expect((await root.call("GET", path)).body.code).toBe("saved_view_not_found");
    const actions = await until("the audit rows", async () => {
      const found = await auditedActions(root, "saved_view.", String(made.body.id));
      return found.length >= 3 && found;
    });
    expect(actions).toEqual(["saved_view.create", "saved_view.update", "saved_view.delete"]);
  });

  it.each<[string, Record<string, unknown>, string]>([
    ["a parameter that the list lacks", { colour: "red" }, "query.colour"],
    ["a page", { page: "2" }, "query.page"],
    ["a cursor", { cursor: "x" }, "query.cursor"],
    ["a value that the list refuses", { status: "asleep" }, "query.status.0"],
    ["an id that is none", { orgId: "x" }, "query.orgId"],
    ["a number", { search: 5 }, "query.search"],
  ])("is refused with %s", async (_what, query, field) => {
    const reply = await root.call("POST", "/saved-views", { name: "View", resource: "devices", query });
    expect([reply.status, reply.body.code]).toEqual([400, "validation_failed"]);
    expect(Object.keys(errorsOf(reply) ?? {})).toEqual([field]);
  });

  it("keeps its query when a change of it is refused", async () => {
    const made = await root.call("POST", "/saved-views", {
      name: "Rows",
      resource: "audit-logs",
      query: { user: "ada" },
    });
    const path = `/saved-views/${made.body.id}`;
    const refused = await root.call("PATCH", path, { name: "New", query: { status: "offline" } });
    expect([refused.status, Object.keys(errorsOf(refused) ?? {})]).toEqual([400, ["query.status"]]);
    expect((await root.call("GET", path)).body).toEqual(made.body);
    await root.call("DELETE", path);
  });
});
