import { describe, expect, it } from "@jest/globals";
import { ownTenant } from "../support/own-tenant.ts";
import { operator, signedInAs } from "../support/users.ts";

const { cluster, tenant } = ownTenant();

describe("the platform's status", () => {
  it("shows each service's dependencies, pending messages and dead letters", async () => {
    const { status, body } = await (await operator(cluster)).call("GET", "/platform/status");
    expect(status).toBe(200);
    expect(body.differentSettings).toEqual([]);
    expect(body.newerRelease).toBeNull();
    const services = body.services as { service: string; deliveries: unknown }[];
    expect(services.map(({ service }) => service).sort()).toEqual(
      ["agent-release", "audit", "device-logs", "identity", "tenancy", "webhook-dispatcher"].sort(),
    );
    for (const each of services) {
      expect(each).toMatchObject({
        status: "ok",
        version: body.version,
        checks: { postgresql: expect.any(String), nats: expect.any(String) },
        outbox: { waiting: expect.any(Number), oldestSeconds: expect.any(Number) },
        deadLetters: expect.any(Number),
        openJobs: expect.any(Number),
      });
      const own = each.service === "webhook-dispatcher";
      expect(each.deliveries).toEqual(own ? { due: expect.any(Number), oldestDueSeconds: expect.any(Number) } : null);
    }
  });

  it("is the platform's people's alone", async () => {
    const partner = await signedInAs(cluster, "partner-admin", { partnerId: tenant.partnerId, orgAccess: "all" });
    for (const by of [partner.api, tenant.admin.api]) {
      const { status, body } = await by.call("GET", "/platform/status");
      expect([status, body.code]).toEqual([403, "permission_denied"]);
    }
  });
});
