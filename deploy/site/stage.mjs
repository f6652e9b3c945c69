import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { publicScope, scoped } from "../release/npm/scope.mjs";
import { groups, paths } from "./pages.mjs";

const link = /(!?)\[((?:!\[[^\]]*\]\([^)]*\)|[^\]])*)\]\((?!https?:|mailto:|#)([^)\s#]+)(#[\w-]+)?\)/g;
const fence = /^```[\s\S]*?^```$/gm;
const comment = /<!--[\s\S]*?-->\n?/g;
/** Programs to copy: each is a page with its code. */
const examples = "docs/examples";
const languages = { cs: "csharp", go: "go", java: "java", mjs: "js", php: "php", py: "python" };

/**
 * A page's text for the site: links to other pages, programs and pictures stay, those to the rest of the repository
 * lead to `source` (`https://…/`), or are words alone without one. Comments go.
 *
 * @param {string} path of the page in the repository
 */
export function pageOf(text, path, source) {
  const fences = [];
  const bare = text.replace(fence, (each) => `\0${fences.push(each) - 1}\0`).replace(comment, "");
  const linked = bare.replace(link, (whole, isPicture, words, target, anchor = "") => {
    const to = posix.join(posix.dirname(path), target);
    if (isPicture || paths.includes(to)) return whole;
    if (posix.dirname(to) === examples) return `[${words}](${target}.md)`;
    return source === undefined ? words : `[${words}](${source}${to}${anchor})`;
  });
  return linked.replace(/\0(\d+)\0/g, (_whole, at) => fences[Number(at)]);
}

const pictures = /!\[[^\]]*\]\(([^)\s]+)\)/g;

/** Writes the pages and their pictures, as VitePress reads them, into a folder; packages are named by their scope. */
export function stagePages({ tree, folder, source, scope }) {
  for (const path of paths) {
    const text = readFileSync(join(tree, path), "utf8");
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), scoped(pageOf(text, path, source), scope));
    for (const [, picture] of text.matchAll(pictures)) {
      const at = posix.join(posix.dirname(path), picture);
      mkdirSync(dirname(join(folder, at)), { recursive: true });
      if (existsSync(join(tree, at))) cpSync(join(tree, at), join(folder, at));
    }
  }
  stageExamples(tree, folder);
  writeFileSync(join(folder, "index.md"), scoped(home(), scope));
}

function stageExamples(tree, folder) {
  mkdirSync(join(folder, examples), { recursive: true });
  for (const name of readdirSync(join(tree, examples)).sort()) {
    const code = readFileSync(join(tree, examples, name), "utf8").trimEnd();
    const page = `# ${name}\n\n\`\`\`${languages[name.split(".").at(-1)]}\n${code}\n\`\`\`\n`;
    writeFileSync(join(folder, examples, `${name}.md`), page);
  }
}

/** The first page: how to begin, then every task with its link. */
function home() {
  const lists = groups.map(({ text, pages }) => {
    const lines = Object.entries(pages).map(([path, title]) => `- [${title}](/${path})`);
    return `## ${text}\n\n${lines.join("\n")}\n`;
  });
  const api = "- [Every operation of the API](/api/index.html){target=_self}\n";
  const start = `Everything on one machine, with Node ≥ 20.19:\n\n\`\`\`sh\nnpx ${publicScope}/cli local\n\`\`\`\n`;
  return `# Muster\n\nThe control plane for fleets of managed devices. ${start}\n${lists.join("\n")}${api}`;
}
