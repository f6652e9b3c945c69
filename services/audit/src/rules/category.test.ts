import { describe, expect, it } from "@jest/globals";
import { categoryOf } from "./category.ts";
import { mayEmit } from "./emitters.ts";

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
