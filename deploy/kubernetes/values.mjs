// node values.mjs [--check]: charts/muster/VALUES.md, a table of every value with its default and the comment above it
// in values.yaml. --check: it is as values.yaml is, and every value has a comment, of its own or of the map around it.
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../", import.meta.url));
const { isMap, isScalar, parseDocument } = createRequire(`${root}package.json`)("yaml");
const at = (name) => `${root}charts/muster/${name}`;

/** What a comment of values.yaml says: its last paragraph, without `--`. */
const said = (comment) =>
  (comment ?? "")
    .split(/\n\s*\n/)
    .at(-1)
    .split("\n")
    .map((line) => line.replace(/^ ?(-- )?/, ""))
    .join(" ")
    .trim();
const cell = (text) => text.replaceAll("|", "\\|");

const rows = [];
const silent = [];
/** Adds a row for each value of a map; those beneath one with a comment may go without. */
function walk(map, path, around) {
  const start = rows.length;
  let first = said(map.commentBefore);
  for (const { key, value } of map.items) {
    // What stands above a map is said of its first value.
    const meaning = first || said(key.commentBefore) || (rows.length === start ? around : "");
    first = "";
    const name = [...path, key.value].join(".");
    const isOpen = isMap(value) && value.items.length > 0 && !value.flow;
    if (isOpen) walk(value, [...path, key.value], meaning || around);
    else {
      if (!meaning && !around) silent.push(name);
      const standard = isScalar(value) ? value.toJSON() : value?.toJSON();
      rows.push(`| \`${name}\` | \`${cell(JSON.stringify(standard ?? null))}\` | ${cell(meaning)} |`);
    }
  }
}
walk(parseDocument(readFileSync(at("values.yaml"), "utf8")).contents, [], "");

const page = `# Values of the chart

Made from \`values.yaml\` by \`node deploy/kubernetes/values.mjs\`. A value under \`services.<name>\` overrides that under \`defaults\`; each
service takes every key of \`defaults\`.

| Value | Default | Meaning |
|---|---|---|
${rows.join("\n")}
`;
for (const name of silent) {
  process.stderr.write(`charts/muster/values.yaml: ${name} has no comment\n`);
  process.exitCode = 1;
}
if (!process.argv.includes("--check")) writeFileSync(at("VALUES.md"), page);
else if (readFileSync(at("VALUES.md"), "utf8") !== page) {
  process.stderr.write("charts/muster/VALUES.md is not as values.yaml is: node deploy/kubernetes/values.mjs\n");
  process.exitCode = 1;
}
