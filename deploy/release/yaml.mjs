import { createRequire } from "node:module";
import { join } from "node:path";
import { Refusal } from "./refusal.mjs";

/** YAML with its comments, by the packages of the tree where it is built, else of the checkout, which may have none. */
export function yamlOf(tree) {
  for (const from of [join(tree, "package.json"), import.meta.url]) {
    try {
      return createRequire(from)("yaml");
    } catch (error) {
      if (error.code !== "MODULE_NOT_FOUND") throw error;
    }
  }
  throw new Refusal("tool", "the package yaml is not installed: npm ci.");
}
