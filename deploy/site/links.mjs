import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join, posix } from "node:path";

const pagesIn = (folder) =>
  readdirSync(folder, { recursive: true })
    .map((path) => String(path).replaceAll("\\", "/"))
    .filter((path) => path.endsWith(".html"))
    .sort();

/** Links of other hosts and of the page's own scripts are not looked up. */
const own = (to) => !/^(?:[a-z][a-z\d+.-]*:|\/\/)/i.test(to) && to !== "";

/** Every link of a built site that leads nowhere, as `page: link`: a file that is not there, or an anchor. */
export function brokenLinks(folder) {
  const texts = new Map(pagesIn(folder).map((path) => [path, readFileSync(join(folder, path), "utf8")]));
  const anchors = new Map(
    [...texts].map(([path, text]) => [
      path,
      new Set([...text.matchAll(/\s(?:id|name)="([^"]+)"/g)].map(([, id]) => id)),
    ]),
  );
  const broken = [];
  for (const [page, text] of texts) {
    for (const [, to] of text.matchAll(/\s(?:href|src)="([^"]*)"/g)) {
      if (!own(to)) continue;
      const [path, anchor] = to.split("#");
      const target = targetOf(folder, page, decodeURI(path));
      const isThere =
        target !== null && (!anchor || !anchors.has(target) || anchors.get(target).has(decodeURIComponent(anchor)));
      if (!isThere) broken.push(`${page}: ${to}`);
    }
  }
  return [...new Set(broken)];
}

/** The file that a path of a page means; null where there is none. */
function targetOf(folder, page, path) {
  if (path === "") return page;
  const at = posix.join(path.startsWith("/") ? "." : posix.dirname(page), path);
  for (const each of [at, `${at}.html`, posix.join(at, "index.html")]) {
    if (existsSync(join(folder, each)) && statSync(join(folder, each)).isFile()) return posix.normalize(each);
  }
  return null;
}
