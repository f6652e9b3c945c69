import { expect, it } from "@jest/globals";
import { slugOf } from "./slug.ts";

it.each([
  ["Acme GmbH & Co. KG", "acme-gmbh-co-kg"],
  ["  Café Zoë  ", "cafe-zoe"],
  ["東京", "unnamed"],
  [`${"a".repeat(99)} b`, "a".repeat(99)],
])("the slug of %j is %s", (name, slug) => {
  expect(slugOf(name)).toBe(slug);
});
