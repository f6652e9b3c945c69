import { readFileSync } from "node:fs";
import { join } from "node:path";
import { makePages } from "../site/build.mjs";
import { bundled } from "../site/bundles.mjs";
import { packTgz } from "./archive.mjs";
import { cache } from "./cache.mjs";
import { component, writeBill } from "./sbom.mjs";

/** Programs of which parts are in the pages that VitePress makes. */
const inPages = ["@vueuse/core", "focus-trap", "mark.js", "minisearch", "vitepress", "vue"];

/** Writes the documentation site as static files: `muster-docs-VERSION.tgz`, and its bill of materials. */
export async function makeSite({ tree, work, out, version, scope, epoch, source }) {
  const folder = join(work, "site");
  const at = source === undefined ? undefined : `${source.replace(/\/$/, "")}/blob/v${version}/`;
  await makePages({ tree, out: join(folder, "docs"), version, source: at, scope, cache });
  await packTgz(join(out, `muster-docs-${version}.tgz`), folder, epoch);
  writeBill({ out, scope, version }, "docs", componentsOf(tree));
}

function componentsOf(tree) {
  const lock = JSON.parse(readFileSync(join(tree, "deploy/site/package-lock.json"), "utf8"));
  const own = inPages.map((name) => {
    const { version, license } = lock.packages[`node_modules/${name}`];
    return component(name, version, `pkg:npm/${name.replace("@", "%40")}@${version}`, license);
  });
  const files = bundled.map(({ spec, license }) => component(...spec.split("@"), `pkg:npm/${spec}`, license));
  return [...own, ...files];
}
