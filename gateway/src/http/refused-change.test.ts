import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { AppError } from "@muster/kit";
import { callContext } from "@muster/rpc";
import { until } from "@muster/testing";
import { fullPath, type Route } from "../route/route.ts";
import { routes } from "../routes/index.ts";
import { type FakeServices, startFakeServices } from "../testing/fake-services.ts";
import { startTestGateway, type TestGateway } from "../testing/test-gateway.ts";

type Reported = { action: string; code: string; id: string; resourceType: string; orgId: string; factsJson: string };

let services: FakeServices;
let gateway: TestGateway;
const reported: Reported[] = [];
/** Who was refused, of each report. */
const reporters: string[] = [];
beforeAll(async () => {
  services = await startFakeServices();
  gateway = await startTestGateway(services);
  services.refusals.noteRefusal = ({ action, code, id, resourceType, orgId, factsJson }, handler) => {
    reported.push({ action, code, id, resourceType, orgId, factsJson });
    reporters.push(callContext(handler).caller.actor.id);
    return {};
  };
});
afterAll(async () => {
  await gateway.close();
  await services.close();
});

const id = "018f0000-0000-7000-8000-000000000001";

async function call(method: string, path: string, headers: Record<string, string>, body?: object): Promise<number> {
  const reply = await fetch(`${gateway.url}${path}`, {
    method,
    headers: { ...headers, ...(body ? { "content-type": "application/json" } : {}) },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  await reply.arrayBuffer();
  return reply.status;
}

/** Reports since `start`, once there are as many as expected. */
const reportsSince = (start: number, count: number) =>
  until("the refusals to be reported", async () => (reported.length >= start + count ? reported.slice(start) : null));

const minuteNow = () => Math.floor(Date.now() / 60_000);

/** What three tries of a route with one new key report, within one minute: the next one reports again. */
async function reportsOfTries(row: Route): Promise<Reported[]> {
  for (;;) {
    const minute = minuteNow();
    const { secret, record } = services.newKey({ scopes: [] });
    for (let i = 0; i < 3; i++) expect(await call(row.method, pathOf(row), { "x-api-key": secret })).toBe(403);
    const ofKey = () => reported.filter((_, at) => reporters[at] === record.id);
    const reports = await until("the refusal to be reported", async () => (ofKey().length > 0 ? ofKey() : null));
    if (minuteNow() === minute) return reports;
  }
}

/** Directories are refused in e2e/directory. */
const changing = routes.filter(
  ({ method, access, audit }) => method !== "GET" && access.auth !== "none" && access.auth !== "directory" && audit,
);
const named = changing.map((row) => [`${row.method} ${row.path}`, row] as const);
const pathOf = (row: Route) => fullPath(row).replace(/:[A-Za-z]+/g, id);

describe("a refused change", () => {
  it.each(named)(
    "by %s is reported once to identity, however often it is tried, as its route says",
    async (_name, row) => {
      expect(await reportsOfTries(row)).toEqual([
        {
          action: row.audit,
          code: expect.stringMatching(/^(user_session_required|insufficient_scope|agent_token_required)$/),
          id: row.path.includes(":id") ? id : "",
          resourceType: row.auditResource ?? "",
          orgId: "",
          factsJson: expect.stringMatching(/^\{.*\}$/),
        },
      ]);
    },
  );

  it("refused by a service is reported with its facts and the organization that it names", async () => {
    const facts = { permissions: ["devices:read"] };
    services.tenancy.createPartner = () => {
      throw new AppError("delegation_denied", "You cannot", { facts });
    };
    const { token } = await services.signIn();
    const start = reported.length;
    const body = { name: "Acme", slug: "acme", orgId: id };
    expect(await call("POST", "/api/v1/orgs/partners", { authorization: `Bearer ${token}` }, body)).toBe(403);
    const [report] = await reportsSince(start, 1);
    expect(report).toMatchObject({ action: "partner.create", code: "delegation_denied" });
    expect(JSON.parse(report?.factsJson ?? "")).toEqual(facts);
  });

  it.each(["partner_not_found", "slug_taken", "site_access_denied"] as const)(
    "is not what is answered with %s",
    async (code) => {
      services.tenancy.deletePartner = () => {
        throw new AppError(code, "Another answer");
      };
      services.tenancy.updatePartner = () => {
        throw new AppError("scope_not_allowed", "Refused");
      };
      const { token } = await services.signIn();
      const headers = { authorization: `Bearer ${token}` };
      const start = reported.length;
      await call("DELETE", `/api/v1/orgs/partners/${id}`, headers);
      await call("PATCH", `/api/v1/orgs/partners/${id}`, headers, { name: "x" });
      expect((await reportsSince(start, 1)).map(({ action }) => action)).toEqual(["partner.update"]);
    },
  );
});
