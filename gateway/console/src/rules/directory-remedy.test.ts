import { expect, it } from "@jest/globals";
import { directoryChange, directoryRemedy } from "./directory-remedy.ts";

const refused = { answer: "scim_invalid", detail: null };
const nameless = { ...refused, detail: 'A User needs "userName".' };

it.each([
  ["a missing attribute", nameless, "Map an attribute to userName"],
  ["a name that is taken", { answer: "scim_uniqueness" }, "Give one of the two another name or address"],
  [
    "a member that is no user",
    { detail: "No user of this directory has the id 7." },
    "Assign the members of its groups to the application",
  ],
  ["anything else", {}, "Correct what was sent"],
])("the change for %s", (_what, of, change) => {
  expect(directoryChange({ ...refused, ...of })).toBe(change);
});

it.each([
  ["is the change that all of them need", [nameless, nameless], "Map an attribute to userName in Okta"],
  ["counts different changes", [nameless, refused, nameless], "Make the 2 changes below in Okta"],
])("the remedy of several requests %s", (_what, of, change) => {
  expect(directoryRemedy(of, "Okta")).toBe(`${change}, then let it provision again.`);
});
