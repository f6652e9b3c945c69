import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "@jest/globals";
import { actionTitle, actionWords, actorWords, attemptTitle, rowTitle } from "./action-words.ts";

/** Every action that a route names. */
function actionsOfRoutes(): string[] {
  const folder = fileURLToPath(new URL("../../../src/routes/", import.meta.url));
  const texts = readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts"))
    .map((file) => readFileSync(`${folder}${file}`, "utf8"));
  const named = texts.flatMap((text) => [...text.matchAll(/audit: "([a-z_.]+)"/g)].map(([, name = ""]) => name));
  return [...new Set(named)].sort();
}

const row = (action: string, name: string | null = null) => ({ action, resource: { type: "x", name } });

it.each([
  [row("site.update", "Osaka"), "changed site Osaka"],
  [row("api_key.rotate", "CI"), "rotated API key CI"],
  [row("agent_update.rollout.create", "2.5.0"), "created agent update rollout 2.5.0"],
  [row("user.login", "Ada"), "signed in"],
  [row("something.odd"), "something odd"],
])("an audit row %j reads: %s", (auditRow, text) => {
  const { did, kind, name } = actionWords(auditRow);
  expect([did, kind, name].filter(Boolean).join(" ")).toBe(text);
});

it.each([
  ["site.update", "Site changed"],
  ["device.update.failed", "Device update failed"],
  ["api_key.rotate", "API key rotated"],
  ["webhook.rotate_secret", "Webhook secret rotated"],
  ["user.mfa.enable", "User second factor enabled"],
  ["agent_update.rollout.halt", "Agent update rollout halted"],
  ["user.login.failed", "Sign-in refused"],
  ["custom.till_closed", "Custom till closed"],
  ["constructor", "Constructor"],
  ["sso.provider.certificates.expiring", "Single sign-on provider certificates expiring"],
])("the action %s has the title %s", (action, title) => {
  expect(actionTitle(action)).toBe(title);
});

it.each([
  ["site.delete", "denied", "Tried to delete a site"],
  ["site.update", "failure", "Failed to change a site"],
  ["api_key.create", "denied", "Tried to create an API key"],
  ["user.create", "denied", "Tried to create a user"],
  ["user.password.change", "failure", "Failed to change a user's password"],
  ["user.recovery_codes.rotate", "denied", "Tried to rotate a user's recovery codes"],
  ["organization.credentials.revoke", "denied", "Tried to revoke an organization's credentials"],
  ["webhook.rotate_secret", "denied", "Tried to rotate a webhook secret"],
  ["agent_update.settings.update", "denied", "Tried to change agent update settings"],
  ["user.login", "failure", "Sign-in refused"],
  ["device.update.failed", "failure", "Device update failed"],
  ["custom.till_closed", "denied", "Custom till closed: refused"],
] as const)("the action %s with the result %s has the title %s", (action, result, title) => {
  expect(attemptTitle(action, result)).toBe(title);
});

describe("the title of an attempt", () => {
  const actions = actionsOfRoutes();

  it("finds the actions of all routes", () => {
    expect(actions.length).toBeGreaterThan(80);
    expect(actions).toEqual(expect.arrayContaining(["site.delete", "user.invite", "webhook.create"]));
  });

  it.each(actions)("says of %s that it did not happen", (action) => {
    const attempt = /^(?:Tried|Failed) to [a-z]+|(?:refused|failed)$/;
    for (const result of ["denied", "failure"] as const) {
      expect(attemptTitle(action, result)).toMatch(attempt);
      expect(attemptTitle(action, result)).not.toBe(actionTitle(action));
      expect(actionWords({ ...row(action), result }).did).toMatch(new RegExp(attempt.source, "i"));
    }
  });
});

it("a bulk job's row says how many devices it changed, and how", () => {
  const job = {
    action: "device.bulk_job.create",
    result: "success",
    resource: { type: "device_bulk_job", name: "update" },
    details: { action: "decommission", devices: 1_200 },
  } as const;
  expect(rowTitle(job)).toBe("1,200 devices decommissioned");
  expect(actionWords(job)).toEqual({ did: "decommissioned", kind: "1,200 devices", name: null });
});

it.each([
  [{ actorType: "user", user: { name: "Kim Roe", email: "kim@acme.example" } }, "Kim Roe"],
  [{ actorType: "user", user: { name: null, email: "kim@acme.example" } }, "kim@acme.example"],
  [{ actorType: "api_key", user: { name: null, email: null } }, "an API key"],
  [{ actorType: "agent", user: { name: null, email: null } }, "an agent"],
  [{ actorType: "system", user: { name: null, email: null } }, "Muster"],
  [{ actorType: "system", user: { name: "agent-release", email: null } }, "Muster"],
  [{ actorType: "system", user: { name: "Link of Kim", email: null } }, "Link of Kim"],
])("the actor of a row %j is %s", (row, words) => {
  expect(actorWords(row)).toBe(words);
});
