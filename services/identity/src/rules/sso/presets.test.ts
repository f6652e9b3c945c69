import { readFileSync } from "node:fs";
import { expect, it } from "@jest/globals";
import { ssoPresets } from "./presets.ts";

const page = readFileSync(new URL("../../../../../docs/sso.md", import.meta.url), "utf8");
/** Product and preset of the page's tables. */
const documented = [...page.matchAll(/^\| ([^|]+) \| `((?:oidc|saml)-[a-z]+)` \|/gm)].map(([, product, id]) => [
  id,
  product,
]);

it.each(ssoPresets.map(({ id, name }) => [id, name]))(
  "preset %s is called %s, by the product that docs/sso.md names",
  (id, name) => {
    expect(documented).toContainEqual([id, name.replace(/ \((OpenID Connect|SAML)\)$/, "")]);
  },
);

it("docs/sso.md names no preset that does not exist", () => {
  expect(documented.map(([id]) => id).sort()).toEqual(ssoPresets.map(({ id }) => id).sort());
});
