import { createHash } from "node:crypto";
import { create, toBinary } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { AppError, uuidv7 } from "@muster/kit";
import { AgentChangedSchema } from "@muster/proto/muster/events/v1/auth_pb";
import { z } from "zod";
import { route } from "../route/route.ts";
import { type FakeServices, startFakeServices } from "../testing/fake-services.ts";
import { startTestGateway, type TestGateway } from "../testing/test-gateway.ts";

const params = z.object({ id: z.uuid() });
const reply = z.object({ actor: z.string() });
const common = { summary: "x", tag: "Platform", reply } as const;
const rows = [
  route({
    ...common,
    method: "POST",
    path: "/agents/:id/logs",
    access: { auth: "agent" },
    params,
    handle: ({ session }) => ({ actor: `${session.caller.actor.type}/${session.caller.actor.id}` }),
  }),
  route({
    ...common,
    method: "POST",
    path: "/agents/:id/heartbeat",
    access: { auth: "agent", whileQuarantined: true },
    params,
    handle: ({ session }) => ({ actor: session.id }),
  }),
  route({
    ...common,
    method: "GET",
    path: "/devices",
    access: { auth: "session", permission: "devices:read", keyScopes: ["devices:read"] },
    handle: () => ({ actor: "somebody" }),
  }),
];

let services: FakeServices;
let gateway: TestGateway;

beforeAll(async () => {
  services = await startFakeServices();
  gateway = await startTestGateway(services, { routes: rows, env: { AGENT_RATE_LIMIT: "777" } });
});
afterAll(async () => {
  await gateway.close();
  await services.close();
});

async function call(method: string, path: string, headers: Record<string, string>) {
  const answer = await fetch(`${gateway.url}/api/v1${path}`, { method, headers });
  const body = (await answer.json()) as { code?: string; actor?: string };
  return { status: answer.status, code: body.code, actor: body.actor, headers: answer.headers };
}
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

describe("an agent token", () => {
  it("opens the routes of its own agent and identifies the caller to the services", async () => {
    const { token, record } = services.newAgent();
    const answer = await call("POST", `/agents/${record.deviceId}/logs`, bearer(token));
    expect([answer.status, answer.actor]).toEqual([200, `agent/${record.deviceId}`]);
    expect(answer.headers.get("x-ratelimit-limit")).toBe("777");
  });

  it("answers another agent's id like an id that does not exist", async () => {
    const { token } = services.newAgent();
    const other = services.newAgent();
    for (const id of [other.record.deviceId, uuidv7()]) {
      const answer = await call("POST", `/agents/${id}/logs`, bearer(token));
      expect([answer.status, answer.code]).toEqual([404, "agent_not_found"]);
      expect(answer.headers.get("x-ratelimit-limit")).toBe("777");
    }
    expect((await call("POST", "/agents/nonsense/logs", bearer(token))).code).toBe("validation_failed");
  });

  it.each([
    ["unknown", `agt_${"a".repeat(43)}`],
    ["too short", "agt_abc"],
  ])("is refused as invalid when it is %s", async (_what, token) => {
    const answer = await call("POST", `/agents/${uuidv7()}/logs`, bearer(token));
    expect([answer.status, answer.code]).toEqual([401, "agent_token_invalid"]);
    expect(answer.headers.get("www-authenticate")).toBe('Bearer error="invalid_token"');
  });

  it("opens no route for users or API keys", async () => {
    const { token } = services.newAgent();
    const answer = await call("GET", "/devices", bearer(token));
    expect([answer.status, answer.code]).toEqual([403, "user_session_required"]);
  });

  it("is required by agents' routes: a session, an API key and a missing credential are refused", async () => {
    const path = `/agents/${uuidv7()}/logs`;
    const { token } = await services.signIn();
    expect(await call("POST", path, bearer(token))).toMatchObject({ status: 403, code: "agent_token_required" });
    const { secret } = services.newKey({ scopes: ["*"] });
    expect(await call("POST", path, { "x-api-key": secret })).toMatchObject({ code: "agent_token_required" });
    expect(await call("POST", path, {})).toMatchObject({ status: 401, code: "unauthenticated" });
  });

  it.each([
    ["active", "suspended", 200],
    ["suspended", "active", 200],
    ["active", "trial", 200],
    ["active", "churned", 403],
    ["churned", "active", 403],
    ["active", "unknown", 503],
  ])("under a partner %s and an organization %s is answered %s/%s", async (partnerStatus, orgStatus, status) => {
    const { token, record } = services.newAgent({ partnerStatus, orgStatus });
    expect((await call("POST", `/agents/${record.deviceId}/logs`, bearer(token))).status).toBe(status);
  });

  it("from a quarantined device opens only the routes marked for quarantined devices", async () => {
    const { token, record } = services.newAgent({ quarantined: true });
    const refused = await call("POST", `/agents/${record.deviceId}/logs`, bearer(token));
    expect([refused.status, refused.code]).toEqual([409, "agent_quarantined"]);
    expect((await call("POST", `/agents/${record.deviceId}/heartbeat`, bearer(token))).status).toBe(200);
  });

  it("is resolved again while identity does not know its organization yet", async () => {
    const { token, record } = services.newAgent();
    const path = `/agents/${record.deviceId}/logs`;
    const resolveAgent = services.edge.resolveAgent;
    services.edge.resolveAgent = () => ({ agent: { ...record, partnerStatus: "unknown" } });
    try {
      expect(await call("POST", path, bearer(token))).toMatchObject({ status: 503, code: "unavailable" });
    } finally {
      if (resolveAgent) services.edge.resolveAgent = resolveAgent;
    }
    expect((await call("POST", path, bearer(token))).status).toBe(200);
  });

  it("is resolved once while nothing changes, and again after an announced change", async () => {
    const { token, record } = services.newAgent();
    const path = `/agents/${record.deviceId}/logs`;
    expect((await call("POST", path, bearer(token))).status).toBe(200);
    const resolveAgent = services.edge.resolveAgent;
    services.edge.resolveAgent = () => {
      throw new AppError("agent_token_revoked", "Agent token is revoked");
    };
    try {
      expect((await call("POST", path, bearer(token))).status).toBe(200);
      const digest = createHash("sha256").update(token).digest();
      const body = toBinary(
        AgentChangedSchema,
        create(AgentChangedSchema, { deviceId: record.deviceId, digests: [digest] }),
      );
      gateway.changes.take([{ id: uuidv7(), subject: "auth.agent", body }]);
      expect(await call("POST", path, bearer(token))).toMatchObject({ status: 401, code: "agent_token_revoked" });
    } finally {
      if (resolveAgent) services.edge.resolveAgent = resolveAgent;
    }
  });
});
