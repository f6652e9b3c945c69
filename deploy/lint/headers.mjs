// Fails on a header with a grammar of its own whose value is not a constant, outside the one file that makes them:
// text that someone stored could end a part of such a header.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../", import.meta.url));
const builder = "libs/kit/src/text/header-values.ts";
const names =
  "Content-Security-Policy|Content-Disposition|ResponseContentDisposition|Location|Set-Cookie|Link|Refresh|ETag";
/** A name as an element, argument or key; then its value. */
const written = new RegExp(`(?:["'\`](?:${names})["'\`]\\s*[,:]|\\b(?:${names}):)\\s*`, "g");
/** A text without parts that are inserted; a maker of the builder. */
const constant = /^(?:"[^"]*"|'[^']*'|`[^`$]*`|entityTag\(|etag\b|attachment\()/;
/** SAML writes `Location` as an attribute of XML. */
const others = ["services/identity/src/crypto/saml/"];

const tracked = execFileSync("git", ["ls-files", "-z", "gateway/src", "libs", "services"], {
  cwd: root,
  encoding: "utf8",
});
const sources = tracked
  .split("\0")
  .filter((path) => /\/src\/.*\.ts$/.test(path) && !/\.test\.ts$|\/testing\/|\/generated\//.test(path))
  .filter((path) => path !== builder && !others.some((folder) => path.startsWith(folder)));

let problems = 0;
for (const path of sources) {
  const text = readFileSync(`${root}${path}`, "utf8");
  for (const { 0: found, index } of text.matchAll(written)) {
    if (constant.test(text.slice(index + found.length))) continue;
    const line = text.slice(0, index).split("\n").length;
    console.error(
      `${path}:${line}: ${found.trim()} is made of text here; libs/kit/src/text/header-values.ts makes it safely`,
    );
    problems += 1;
  }
}
if (problems > 0) process.exitCode = 1;
