import { expect, it } from "@jest/globals";
import { errorsAt } from "./field-errors.ts";

const fieldErrors = {
  name: ["Required"],
  "example.order.id": ["Must be a number"],
  "notify.mail.0": ["No such user"],
  examples: ["Too many"],
};

it.each([
  ["name", ["Required"]],
  ["example", ["order.id: Must be a number"]],
  ["notify", ["No such user"]],
  ["schema", undefined],
])("the errors at %s", (field, errors) => {
  expect(errorsAt(fieldErrors, field)).toEqual(errors);
  expect(errorsAt(undefined, field)).toBeUndefined();
});
