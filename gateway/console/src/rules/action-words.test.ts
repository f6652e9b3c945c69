import { expect, it } from "@jest/globals";
import { actionTitle, actionWords } from "./action-words.ts";

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
