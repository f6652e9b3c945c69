import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { brokenLinks } from "../../site/links.mjs";
import { emptyFolder, must, run } from "./tools.mjs";

/** The documentation site is whole: its pages, its search, the API's reference, and no link that leads nowhere. */
export function checkSite({ folder, files, release, work, say }) {
  const archive = `muster-docs-${release.version}.tgz`;
  if (!files.includes(archive)) return "the release has no documentation site";
  run("tar", ["-xzf", join(folder, archive), "-C", emptyFolder(work)]);
  const site = join(work, "docs");
  for (const path of [
    "index.html",
    "docs/first-steps.html",
    "api/index.html",
    "api/openapi.json",
    "api/redoc.standalone.js",
  ])
    must(existsSync(join(site, path)), `the site has no ${path}`);
  must(
    readdirSync(join(site, "assets/chunks")).some((name) => name.includes("localSearchIndex")),
    "the site has no search",
  );
  const broken = brokenLinks(site);
  must(broken.length === 0, `links that lead nowhere:\n${broken.join("\n")}`);
  say("the site has its search and the API's reference; every link and anchor leads somewhere");
}
