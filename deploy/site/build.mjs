// `npm run docs [-- --out FOLDER] [--source https://…/]`: makes the documentation site of this checkout, static pages
// with search, in dist/docs.
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { cache as machineCache } from "../release/cache.mjs";
import { publicScope } from "../release/npm/scope.mjs";
import { bundleOf } from "./bundles.mjs";
import { apiPage, configOf, diagramsScript } from "./config.mjs";
import { brokenLinks } from "./links.mjs";
import { groups } from "./pages.mjs";
import { stagePages } from "./stage.mjs";

/**
 * Makes the site of a compiled tree in a folder. Throws where a page does not build or a link leads nowhere.
 *
 * @param {{ tree: string, out: string, version: string, source?: string, scope?: string, cache?: string }} options
 */
export async function makePages({ tree, out, version, source, scope = publicScope, cache = machineCache }) {
  const work = mkdtempSync(join(tmpdir(), "muster-site-"));
  try {
    for (const name of ["package.json", "package-lock.json"]) cpSync(join(tree, "deploy/site", name), join(work, name));
    run("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund"], work);
    const pages = join(work, "pages");
    const shared = join(pages, "public");
    mkdirSync(join(pages, ".vitepress"), { recursive: true });
    mkdirSync(join(shared, "api"), { recursive: true });
    stagePages({ tree, folder: pages, source, scope });
    cpSync(join(tree, "deploy/reference/repository.mjs"), join(pages, ".vitepress/slug.mjs"));
    writeFileSync(join(pages, ".vitepress/config.mjs"), configOf({ version, groups, slugModule: "./slug.mjs" }));
    writeFileSync(join(shared, "diagrams.js"), diagramsScript);
    writeFileSync(join(shared, "mermaid.min.js"), bundleOf("mermaid", cache));
    writeFileSync(join(shared, "api/redoc.standalone.js"), bundleOf("redoc", cache));
    writeFileSync(join(shared, "api/openapi.json"), `${JSON.stringify(await openApi(tree, version))}\n`);
    writeFileSync(join(shared, "api/index.html"), apiPage(version));
    run(
      process.execPath,
      [join(work, "node_modules/vitepress/bin/vitepress.js"), "build", "pages", "--outDir", out],
      work,
    );
    const broken = brokenLinks(out);
    if (broken.length > 0) throw new Error(`links that lead nowhere:\n${broken.join("\n")}`);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

async function openApi(tree, version) {
  const at = (path) => import(pathToFileURL(join(tree, "gateway/dist", path)).href);
  const [{ openApiDocument }, { routes }] = [await at("openapi/document.js"), await at("routes/index.js")];
  return openApiDocument(routes, { version });
}

function run(program, args, cwd) {
  try {
    execFileSync(program, args, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
  } catch (error) {
    throw new Error(`${program} ${args[0]}: ${error.stdout ?? ""}${error.stderr ?? error.message}`);
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const root = fileURLToPath(new URL("../../", import.meta.url));
  const { values } = parseArgs({ options: { out: { type: "string" }, source: { type: "string" } } });
  const { prepare } = await import("../local/prepare.mjs");
  prepare({ client: true });
  const out = resolve(values.out ?? join(root, "dist/docs"));
  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  if (existsSync(out)) rmSync(out, { recursive: true });
  await makePages({ tree: root, out, version, source: values.source });
  console.log(out);
}
