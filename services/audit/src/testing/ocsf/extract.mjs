// node services/audit/src/testing/ocsf/extract.mjs CHECKOUT: takes the definitions that audit's events use out of a
// checkout of ocsf-schema (Apache-2.0, NOTICE beside this file) into definitions.json, without their descriptions.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const [checkout] = process.argv.slice(2);
if (!checkout) throw new Error("usage: extract.mjs CHECKOUT");
const read = (path) => JSON.parse(readFileSync(join(checkout, path), "utf8"));

const classes = {
  base_event: "events/base_event.json",
  iam: "events/iam/iam.json",
  application: "events/application/application.json",
  authentication: "events/iam/authentication.json",
  account_change: "events/iam/account_change.json",
  entity_management: "events/iam/entity_management.json",
  api_activity: "events/application/api_activity.json",
};
/** Attributes of any other object are left out: no event of ours may have one. */
const objects =
  "object _entity actor api endpoint http_request managed_entity metadata network_endpoint product service session user";

const withoutProse = (value) => {
  if (Array.isArray(value)) return value.map(withoutProse);
  if (typeof value !== "object" || value === null) return value;
  const kept = Object.entries(value).filter(([key]) => !["description", "references", "@deprecated"].includes(key));
  return Object.fromEntries(kept.map(([key, each]) => [key, withoutProse(each)]));
};
const all = (names) => Object.fromEntries(names.map(([name, path]) => [name, withoutProse(read(path))]));

const found = {
  classes: all(Object.entries(classes)),
  objects: all(objects.split(" ").map((name) => [name, `objects/${name}.json`])),
};
const included = JSON.stringify(found).match(/"profiles\/\w+\.json"/g) ?? [];
const profiles = all(
  [...new Set(included)]
    .map((quoted) => JSON.parse(quoted))
    .filter((path) => existsSync(join(checkout, path)))
    .map((path) => [path, path]),
);
const used = new Set(
  [...Object.values(found.classes), ...Object.values(found.objects), ...Object.values(profiles)].flatMap((each) =>
    Object.keys(each.attributes ?? {}),
  ),
);
const { attributes, types } = withoutProse(read("dictionary.json"));
const definitions = {
  version: read("version.json").version,
  ...found,
  profiles,
  categories: withoutProse(read("categories.json")).attributes,
  attributes: Object.fromEntries(Object.entries(attributes).filter(([name]) => used.has(name))),
  types: types.attributes,
};
const target = fileURLToPath(new URL("definitions.json", import.meta.url));
writeFileSync(target, `${JSON.stringify(definitions, null, 1)}\n`);
