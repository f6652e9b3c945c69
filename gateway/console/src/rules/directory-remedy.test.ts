import { expect, it } from "@jest/globals";
import { directoryRemedy } from "./directory-remedy.ts";

const refused = { answer: "scim_invalid", detail: null };

it.each([
  ["a missing attribute", { detail: 'A User needs "userName".' }, "Map an attribute to userName"],
  ["a name that is taken", { answer: "scim_uniqueness" }, "Give one of the two another name or address"],
  [
    "a member that is no user",
    { detail: "No user of this directory has the id 7." },
    "Assign the members of its groups to the application",
  ],
  ["anything else", {}, "Correct what was sent"],
])("the remedy of %s", (_what, of, change) => {
  expect(directoryRemedy({ ...refused, ...of })).toBe(`${change} in the directory, then let it provision again.`);
});
