import { expect, it } from "@jest/globals";
import { withoutValues } from "./request-log.ts";

it.each([
  ['userName eq "ada@acme.example" and active eq true', 'userName eq "…" and active eq "…"'],
  ['emails[type eq "work"].value co "a\\"b"', 'emails[type eq "…"].value co "…"'],
  ['externalId EQ "unclosed', 'externalId EQ "…"'],
  ["Another user has the address ada@acme.example.", "Another user has the address …"],
])("logs %s without its values", (text, expected) => {
  expect(withoutValues(text)).toBe(expected);
});
