import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";

const folder = mkdtempSync(join(tmpdir(), "muster-site-test-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let brokenLinks: (folder: string) => string[];
let paths: string[];
let pageOf: (text: string, path: string, source?: string) => string;
beforeAll(async () => {
  const [links, stage, pages] = ["../../site/links.mjs", "../../site/stage.mjs", "../../site/pages.mjs"];
  ({ paths } = (await import(pages)) as { paths: string[] });
  ({ brokenLinks } = (await import(links)) as { brokenLinks: typeof brokenLinks });
  ({ pageOf } = (await import(stage)) as { pageOf: typeof pageOf });
});

/** A site of these pages, in a folder of its own. */
function site(name: string, pages: Record<string, string>) {
  const root = join(folder, name);
  for (const [path, text] of Object.entries(pages)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return root;
}

const target = '<h2 id="there" tabindex="-1">There</h2>';

describe("the search for links that lead nowhere", () => {
  it.each([
    ["a page", "/b.html"],
    ["a page without its ending", "/b"],
    ["a folder", "/c/"],
    ["an anchor", "b.html#there"],
    ["its own anchor", "#here"],
    ["another host", "https://example.com/none"],
  ])("passes %s", (name, href) => {
    const page = `<p id="here"><a href="${href}">x</a></p>`;
    expect(
      brokenLinks(site(name.replaceAll(" ", "-"), { "a.html": page, "b.html": target, "c/index.html": "" })),
    ).toEqual([]);
  });

  it.each([
    ["a page", '<a href="/none.html">x</a>', "/none.html"],
    ["a picture", '<img src="../none.png">', "../none.png"],
    ["an anchor of another page", '<a href="/b.html#nowhere">x</a>', "/b.html#nowhere"],
    ["an anchor of its own", '<a href="#nowhere">x</a>', "#nowhere"],
  ])("finds %s that is not there", (name, page, link) => {
    expect(brokenLinks(site(`no ${name}`, { "a.html": page, "b.html": target }))).toEqual([`a.html: ${link}`]);
  });
});

describe("a page of the site", () => {
  it("keeps links to pages and pictures, and leads to the source or nowhere with the rest", () => {
    const text =
      "[one](sso.md#a) ![two](pictures/x.png) [three](../libs/db/README.md#b) [four](https://example.com) <!-- five -->\n";
    expect(pageOf(text, "docs/concepts.md")).toBe(
      "[one](sso.md#a) ![two](pictures/x.png) three [four](https://example.com) ",
    );
    expect(pageOf(text, "docs/concepts.md", "https://example.com/")).toContain(
      "[three](https://example.com/libs/db/README.md#b)",
    );
  });

  it("leaves code as it is", () => {
    const code = "```sh\n# <!-- kept --> [x](../libs/db/README.md)\n```";
    expect(pageOf(code, "docs/concepts.md")).toBe(code);
  });
});

describe("the pages of the site", () => {
  const tree = fileURLToPath(new URL("../../../", import.meta.url));
  /** A reader of the pages of this checkout, by their path. */
  async function staged(name: string, source?: string) {
    const stage = "../../site/stage.mjs";
    const { stagePages } = (await import(stage)) as { stagePages(options: object): void };
    stagePages({ tree, folder: join(folder, name), scope: "@acme", source });
    return (path: string) => readFileSync(join(folder, name, path), "utf8");
  }
  /** What is about the code or its figures, or is in the chart's archive: a reader of the site needs none of it. */
  const outside =
    /^(docs\/(decisions|performance)\/.+|deploy\/(cli|release)\/README\.md|gateway\/src\/channel\/README\.md|services\/identity\/single-sign-on\.md|charts\/muster\/examples)$/;

  it("have every page and every program that they lead to", async () => {
    const read = await staged("whole", "https://source.example/");
    const out = paths.flatMap((path) => [...read(path).matchAll(/\]\(https:\/\/source\.example\/([^)#]+)/g)]);
    expect(out.map(([, to = ""]) => to).filter((to) => !outside.test(to))).toEqual([]);
    expect(read("docs/webhooks.md")).toContain("[Go](examples/verify_webhook.go.md)");
    const example = "docs/examples/verify_webhook.go";
    const program = readFileSync(join(tree, example), "utf8").trimEnd();
    expect(read(`${example}.md`)).toBe(`# verify_webhook.go\n\n\`\`\`go\n${program}\n\`\`\`\n`);
    expect(read("index.md")).toContain("npx @acme/cli local");
  });

  it("name packages as they are published", async () => {
    const page = await staged("scoped");
    expect(page("libs/client/README.md")).toContain('from "@acme/client"');
    expect(page("docs/first-steps.md")).toContain("npx @acme/cli local");
    expect(paths.filter((path) => /@muster(-fleet)?\//.test(page(path)))).toEqual([]);
  });
});

describe("the configuration of VitePress", () => {
  it("colours code without a limit of time, so that a slow machine makes the same pages", async () => {
    const config = "../../site/config.mjs";
    const { configOf } = (await import(config)) as { configOf(of: object): string };
    const file = join(folder, "config.mjs");
    const slugModule = fileURLToPath(new URL("../../reference/repository.mjs", import.meta.url));
    writeFileSync(file, configOf({ version: "0.2.0", groups: [], slugModule }));
    type Transformer = { preprocess(code: string, options: { tokenizeTimeLimit?: number }): void };
    const { default: made } = (await import(file)) as { default: { markdown: { codeTransformers: Transformer[] } } };
    const options = {};
    for (const each of made.markdown.codeTransformers) each.preprocess("", options);
    expect(options).toEqual({ tokenizeTimeLimit: 0 });
  });
});

describe("what is read outside of a checkout", () => {
  const root = fileURLToPath(new URL("../../../", import.meta.url));
  const outside =
    /^(docs|gateway\/src|gateway\/console\/src|charts|libs\/client|deploy\/(cli\/src|compose|agent|release\/npm))\//;
  const files = execFileSync("git", ["ls-files"], { cwd: root, encoding: "utf8" }).split("\n");

  it("never names a package of somebody else as the command line", () => {
    const found = [...files.filter((path) => outside.test(path) && existsSync(join(root, path))), ...paths].filter(
      (path) => path !== "CHANGELOG.md" && readFileSync(join(root, path), "utf8").includes("npx muster"),
    );
    expect(found).toEqual([]);
  });
});
