import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, it } from "@jest/globals";
import { until } from "@muster/testing";
import { type Api, api } from "../support/client.ts";
import type { Cluster } from "../support/cluster.ts";
import { agentWith, enrollAgent } from "../support/enrolled-agent.ts";
import { auditedActions, newTenant } from "../support/enroller.ts";
import { sharedCluster } from "../support/shared-cluster.ts";
import { operator, roleId, tokenOf } from "../support/users.ts";

let cluster: Cluster;
let root: Api;
beforeAll(async () => {
  cluster = await sharedCluster();
  root = await operator(cluster);
}, 180_000);

const under = (key: string) => ({ "idempotency-key": key });
const idsOf = (body: { data?: unknown[] }) => ((body.data ?? []) as { id: string }[]).map(({ id }) => id);

describe("a POST under an Idempotency-Key", () => {
  it("makes one partner however often it is repeated, also in parallel, with one audit row", async () => {
    const key = randomUUID();
    const wanted = { name: "Once", slug: `once-${randomUUID()}` };
    const post = () => root.call("POST", "/orgs/partners", wanted, under(key));
    const replies = await Promise.all(Array.from({ length: 20 }, post));
    replies.push(await post());
    const [first] = replies;
    for (const { status, body } of replies) expect([status, body]).toEqual([201, first?.body]);
    const requestIds = replies.map(({ headers }) => headers.get("x-request-id"));
    expect(new Set(requestIds).size).toBe(replies.length);
    // Rows of a chain are sealed in the order of their commits: a second creation would precede the change.
    const id = String(first?.body.id);
    await root.call("PATCH", `/orgs/partners/${id}`, { name: "Renamed" });
    const actions = await until("the audit rows", async () => {
      const found = await auditedActions(root, "partner.", id);
      return found.length >= 2 && found;
    });
    expect(actions).toEqual(["partner.create", "partner.update"]);
    expect((await post()).body.name).toBe("Once");
  });

  it("is a 409 with another body, on that route alone", async () => {
    const { orgId } = await newTenant(root);
    const key = randomUUID();
    const post = (path: string, name: string) => root.call("POST", path, { orgId, name }, under(key));
    const group = await post("/device-groups", "A");
    const other = await post("/device-groups", "B");
    expect([group.status, other.status, other.body.code]).toEqual([201, 409, "idempotency_conflict"]);
    expect((await post("/orgs/sites", "B")).status).toBe(201);
    expect(idsOf((await root.call("GET", `/device-groups?orgId=${orgId}`)).body)).toEqual([group.body.id]);
    const actions = await until("the audit row", async () => {
      const found = await auditedActions(root, "device_group.", String(group.body.id));
      return found.length > 0 && found;
    });
    expect(actions).toEqual(["device_group.create"]);
  });

  it("is done after all when the first was refused", async () => {
    const { orgId } = await newTenant(root);
    const key = randomUUID();
    const refused = await root.call("POST", "/orgs/sites", { orgId: randomUUID(), name: "S" }, under(key));
    expect([refused.status, refused.body.code]).toEqual([404, "organization_not_found"]);
    expect((await root.call("POST", "/orgs/sites", { orgId, name: "S" }, under(key))).status).toBe(201);
  });

  it.each(["a b", "x".repeat(256)])("is refused for the key %j", async (key) => {
    const { status, body } = await root.call("POST", "/orgs/partners", { name: "N", slug: "n" }, under(key));
    expect([status, body.code]).toEqual([400, "validation_failed"]);
    expect(body.details).toMatchObject({ fieldErrors: { "Idempotency-Key": [expect.any(String)] } });
  });

  it("is refused where no reply is kept, before anything happens", async () => {
    const { status, body } = await root.call("POST", "/auth/logout", {}, under(randomUUID()));
    expect([status, body.code]).toEqual([400, "validation_failed"]);
    expect((await root.call("GET", "/auth/me")).status).toBe(200);
  });

  it.each(["/api-keys", "/service-principals"])(
    "rotates a key of %s once, and answers a repeat with the same secret",
    async (path) => {
      const { orgId } = await newTenant(root);
      const { id } = (await root.call("POST", path, { orgId, name: "Rotated" })).body;
      const key = randomUUID();
      const rotate = () => root.call("POST", `${path}/${id}/rotate`, {}, under(key));
      const [first, ...repeats] = [await rotate(), await rotate(), await rotate()];
      expect([first.status, first.body.key]).toEqual([200, expect.stringMatching(/^svc_/)]);
      for (const { status, body } of repeats) expect([status, body.key]).toEqual([200, first.body.key]);
      const me = await fetch(`${cluster.url}/api/v1/auth/me`, { headers: { "x-api-key": String(first.body.key) } });
      expect([me.status, ((await me.json()) as { keyPrefix: string }).keyPrefix]).toEqual([200, first.body.keyPrefix]);
    },
  );

  it("sends one invitation again, and answers a repeat with its link", async () => {
    const { orgId } = await newTenant(root);
    const email = `${randomUUID()}@example.com`;
    const invited = { email, name: "Invited", orgId, roleId: await roleId(root, "org-viewer") };
    const { id } = (await root.call("POST", "/users", invited)).body;
    const key = randomUUID();
    const invite = () => root.call("POST", `/users/${id}/invite`, undefined, under(key));
    const [first, second] = [await invite(), await invite()];
    expect([first.status, first.body.inviteUrl]).toEqual([200, expect.stringContaining("token=")]);
    expect([second.status, second.body.inviteUrl]).toEqual([200, first.body.inviteUrl]);
    const accept = (url: unknown) =>
      api(cluster).call("POST", "/auth/accept-invite", { token: tokenOf(url), password: "a long enough pass phrase" });
    expect((await accept(first.body.inviteUrl)).status).toBe(200);
    const again = await root.call("POST", `/users/${id}/invite`, undefined, under(randomUUID()));
    expect([again.status, again.body.code]).toEqual([409, "invitation_accepted"]);
    const actions = await until("the audit rows", async () => {
      const found = await auditedActions(root, "user.invite", String(id));
      return found.includes("user.invite.accept") ? found : null;
    });
    expect(actions).toEqual(["user.invite", "user.invite.accept"]);
  });

  it("rotates an agent's token once, and answers a repeat with the same one", async () => {
    const { orgId } = await newTenant(root);
    const { body } = await root.call("POST", "/enrollment-keys", { orgId, name: "Fleet" });
    const agent = await enrollAgent(cluster, String(body.key));
    const key = randomUUID();
    const rotate = (token: string) =>
      api(cluster, token).call("POST", `/agents/${agent.id}/rotate-token`, undefined, under(key));
    const first = await rotate(agent.token);
    expect([first.status, (await rotate(agent.token)).body]).toEqual([200, first.body]);
    const next = agentWith(cluster, agent.id, String(first.body.token));
    expect((await next.heartbeat()).status).toBe(200);
    // Also once the old token is refused: a caller with the new token already has it.
    expect((await rotate(next.token)).body).toEqual(first.body);
    expect((await next.heartbeat()).status).toBe(200);
  });
});
