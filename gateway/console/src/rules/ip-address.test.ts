import { expect, it } from "@jest/globals";
import { isAddress } from "./ip-address.ts";

it.each([
  ["10.0.0.7", true],
  ["2001:db8::7", true],
  ["::1", true],
  ["10.0.0", false],
  ["web-01", false],
  ["12:34", false],
  ["", false],
])("the text %j is an address of a machine: %s", (text, expected) => {
  expect(isAddress(text)).toBe(expected);
});
