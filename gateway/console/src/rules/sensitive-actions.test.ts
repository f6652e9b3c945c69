import { expect, it } from "@jest/globals";
import { sensitiveMark } from "./sensitive-actions.ts";

it.each([
  ["api_key.create", "keys"],
  ["webhook.reveal_secret", "keys"],
  ["directory.token.rotate", "keys"],
  ["user.permission.change", "access"],
  ["organization.credentials.revoke", "access"],
  ["sso.provider.update", "sign-in"],
  ["audit.retention.update", "policy"],
  ["agent_update.settings.update", "policy"],
  ["data.export", "data"],
  ["site.update", null],
  ["device_group.create", null],
  ["webhook.update", null],
])("the action %s is marked %s", (action, mark) => {
  expect(sensitiveMark(action)).toBe(mark);
});
