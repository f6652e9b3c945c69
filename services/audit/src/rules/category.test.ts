import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "@jest/globals";
import { categoryOf } from "./category.ts";
import { emittingServices, mayEmit } from "./emitters.ts";
import { needsOrganization } from "./organization-actions.ts";

describe("categories and emitters", () => {
  it.each([
    ["user.login.failed", "authentication"],
    ["user.logout", "authentication"],
    ["user.permission.change", "authentication"],
    ["user.create", "system"],
    ["device.create", "device"],
    ["script.execute", "automation"],
    ["automation.policy.evaluate", "policy"],
    ["policy.update", "policy"],
    ["alert.acknowledge", "alert"],
    ["data.export", "compliance"],
    ["organization.update", "organization"],
    ["partner.create", "system"],
  ])("%s is %s", (action, category) => {
    expect(categoryOf(action)).toBe(category);
  });

  it.each([
    ["tenancy", "partner.create", true],
    ["tenancy", "user.login", false],
    ["identity", "user.login", true],
    ["identity", "partner.create", false],
    ["identity", "portal_link.open", true],
    ["webhook-dispatcher", "portal_link.open", false],
    ["device-logs", "agent.eventlogs.submit", true],
    ["device-logs", "agent.eventlogs.submit.more", false],
    ["gateway", "user.login", false],
    ["nobody", "user.login", false],
  ])("%s may emit %s: %s", (service, action, allowed) => {
    expect(mayEmit(service, { action, result: "success" })).toBe(allowed);
  });

  it("keeps rows of jobs over several organizations", () => {
    const rows = ["device.update", "device.bulk_job.create"].map((action) => ({ action, result: "success" }));
    expect(rows.map(needsOrganization)).toEqual([true, false]);
  });

  it("some service may emit the action of each route", () => {
    const folder = fileURLToPath(new URL("../../../../gateway/src/routes", import.meta.url));
    const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".ts"));
    const named = files.flatMap((file) =>
      [...readFileSync(`${folder}/${file}`, "utf8").matchAll(/\baudit: "([^"]+)"/g)].map(([, action = ""]) => action),
    );
    expect(named.length).toBeGreaterThan(90);
    const isEmitted = (action: string) =>
      emittingServices.some((service) => mayEmit(service, { action, result: "success" }));
    expect(named.filter((action) => !isEmitted(action))).toEqual([]);
  });

  it("identity alone may emit refusals of the actions of other services", () => {
    const refused = { action: "webhook.create", result: "denied" };
    expect(["identity", "tenancy", "gateway"].map((service) => mayEmit(service, refused))).toEqual([
      true,
      false,
      false,
    ]);
  });

  it.each(["__proto__", "constructor", "toString", "nobody"])("a service called %s emits nothing", (service) => {
    expect(mayEmit(service, { action: "user.login", result: "denied" })).toBe(false);
  });
});
