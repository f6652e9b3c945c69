import { expect, it } from "@jest/globals";
import { nextPath } from "./next-path.ts";

it.each([
  [null, "/"],
  ["", "/"],
  ["/devices?status=offline", "/devices?status=offline"],
  ["/audit/018f#row", "/audit/018f"],
  ["devices", "/"],
  ["//evil.example/x", "/"],
  ["/\\evil.example", "/"],
  ["/\t/evil.example", "/"],
  ["/x/..//evil.example", "/"],
  ["https://evil.example", "/"],
  ["javascript:alert(1)", "/"],
  ["/login?next=/login", "/"],
  ["/reset-password", "/"],
])("the page after a sign-in for next=%j is %s", (wanted, path) => {
  expect(nextPath(wanted)).toBe(path);
});
