import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Refusal } from "./refusal.mjs";

/** Licenses (SPDX) that may be distributed with ours, given their texts. */
const allowed = new Set([
  "0BSD",
  "Apache-2.0",
  "BlueOak-1.0.0",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "CC0-1.0",
  "ISC",
  "MIT",
  "MIT-0",
  "Unlicense",
]);

/** What package.json does not say as SPDX has it, read in the package's own files. */
const read = { "xml-escape@1.1.0": "MIT" };

/** Debian's packages have their licenses as files in the image. */
const inImage = (purl) => purl.startsWith("pkg:deb/");

function licenseOf({ name, version, licenses = [], purl }) {
  if (inImage(purl)) return `usr/share/doc/${name}/copyright`;
  const expressions = licenses.map(({ license, expression }) => expression ?? license.id ?? license.name);
  return read[`${name}@${version}`] ?? expressions.join(" AND ");
}

const isAllowed = (expression) => {
  const ids = expression.split(/[()\s]+|\bAND\b/).filter(Boolean);
  return ids.length > 0 && ids.every((id) => allowed.has(id));
};

/** A table of everything in a release that others wrote. Throws a refusal that names what has another license. */
export function licenseReport(sboms, version) {
  const rows = new Map();
  for (const each of sboms.flatMap(({ components }) => components)) {
    if (/^pkg:npm\/(%40|@)muster\//.test(each.purl)) continue;
    rows.set(each.purl, {
      name: each.group ? `${each.group}/${each.name}` : each.name,
      version: each.version,
      purl: each.purl,
      license: licenseOf(each),
    });
  }
  const refused = [...rows.values()].find(({ license, purl }) => !inImage(purl) && !isAllowed(license));
  if (refused)
    throw new Refusal(
      "failed",
      `${refused.name} ${refused.version} has the license "${refused.license}", which is not among those that may be distributed.`,
    );
  const lines = [...rows.values()]
    .map(({ name, version, license }) => `| ${name} | ${version} | ${license} |`)
    .sort((a, b) => (a < b ? -1 : 1));
  return `# What Muster ${version} contains of others\n\n| Package | Version | License |\n|---|---|---|\n${lines.join("\n")}\n`;
}

/** Writes licenses.md from the bills of materials of the release. */
export function writeLicenses({ out, version }) {
  const folder = join(out, "sbom");
  if (!existsSync(folder)) return;
  const sboms = readdirSync(folder).map((name) => JSON.parse(readFileSync(join(folder, name), "utf8")));
  writeFileSync(join(out, "licenses.md"), licenseReport(sboms, version));
}
