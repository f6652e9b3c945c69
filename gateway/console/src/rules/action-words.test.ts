import { expect, it } from "@jest/globals";
import { actionWords } from "./action-words.ts";

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
