// The index of decisions by area; a decision's file is named after its title, and says when and whether it holds.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { slug } from "./repository.mjs";

const folder = "docs/decisions";
const form =
  /^# (\d+)\. (.+)\n\nStatus: accepted, (\d{4}-\d\d-\d\d)(?:; replaces ([\d, and]+))?\. Area: ([a-z-]+)\.\n\n/;

const mostWords = 200;

function decisionOf(root, file) {
  const text = readFileSync(join(root, folder, file), "utf8");
  const [head = "", number, title, date, replaces, area] = form.exec(text) ?? [];
  if (!number) throw new Error(`${folder}/${file} does not begin with number, title, status, date and area`);
  const name = `${number.padStart(4, "0")}-${slug(title)}.md`;
  if (file !== name) throw new Error(`${folder}/${file} is not named after its title: ${name}`);
  const words = text.slice(head.length).split(/\s+/).filter(Boolean).length;
  if (words > mostWords) throw new Error(`${folder}/${file} has ${words} words, more than ${mostWords}`);
  return { number: Number(number), title, date, area, file, replaces: (replaces ?? "").match(/\d+/g) ?? [] };
}

export function decisionsPage(root) {
  const decisions = readdirSync(join(root, folder))
    .filter((file) => file !== "README.md")
    .map((file) => decisionOf(root, file));
  const sections = [...new Set(decisions.map(({ area }) => area))].sort().map((area) => {
    const rows = decisions
      .filter((decision) => decision.area === area)
      .map(({ number, title, file, date }) => `| ${number} | [${title}](${file}) | ${date} |`);
    return `## ${area}\n\n| | Decision | Since |\n|---|---|---|\n${rows.join("\n")}\n`;
  });
  const replaced = decisions
    .flatMap(({ number, replaces }) => replaces.map((old) => ({ old: Number(old), number })))
    .sort((a, b) => a.old - b.old)
    .map(({ old, number }) => `${old} → ${number}`);
  return {
    [`${folder}/README.md`]: `# Decisions

Choices that another engineer might undo, each with what was rejected and why, in at most 200 words. The index is made by
\`node deploy/reference/generate.mjs\`. Numbers are never reused. Replaced: ${replaced.join(", ")}.

${sections.join("\n")}`,
  };
}
