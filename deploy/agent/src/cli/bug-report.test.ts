import { expect, it } from "@jest/globals";
import { redacted } from "./bug-report.ts";
import { withoutCredential } from "./doctor.ts";

it.each([
  ['{"token": "agt_abc-DEF_123", "other": 1}', "abc"],
  [`key ${"0f".repeat(32)} was refused`, "0f0f"],
  ["https://user:pass@proxy.example:3128", "pass"],
  ['"hardwareId":"5e6762e51e04"', "5e6762"],
  ['"serialNumber": "PF2ABCDE"', "PF2ABCDE"],
  ['"oldToken":"agt_x1"', "x1"],
])("a bug report has no secret of %s", (text, secret) => {
  expect(redacted(text)).not.toContain(secret);
});

it("a proxy is shown without its credential", () => {
  expect(withoutCredential("http://user:pass@proxy:3128/")).toBe("http://***@proxy:3128/");
});
