/** VitePress's configuration, as the text of its module: the same pages make the same files. */
export const configOf = ({ version, groups, slugModule }) => `import { slug } from ${JSON.stringify(slugModule)};

const escaped = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;");

export default {
  title: "Muster",
  description: ${JSON.stringify(`Documentation of Muster ${version}`)},
  cleanUrls: false,
  lastUpdated: false,
  // One page after the other: the search index lists them in the order in which they were read.
  buildConcurrency: 1,
  ignoreDeadLinks: "localhostLinks",
  head: [["script", { src: "/diagrams.js", defer: "" }]],
  markdown: {
    html: false,
    anchor: { slugify: slug },
    // Without it a slow machine gives up on a line after half a second, and colours its rest otherwise.
    codeTransformers: [{ name: "no-time-limit", preprocess: (_code, options) => void (options.tokenizeTimeLimit = 0) }],
    config(markdown) {
      const fence = markdown.renderer.rules.fence;
      markdown.renderer.rules.fence = (tokens, at, ...rest) =>
        tokens[at].info.trim() === "mermaid"
          ? '<pre v-pre class="mermaid">' + escaped(tokens[at].content) + "</pre>"
          : fence(tokens, at, ...rest);
    },
  },
  themeConfig: {
    search: { provider: "local" },
    nav: [{ text: "API", link: "/api/index.html", target: "_self" }, { text: ${JSON.stringify(version)}, link: "/CHANGELOG" }],
    outline: [2, 3],
    sidebar: ${JSON.stringify(
      groups.map(({ text, pages }) => ({
        text,
        items: Object.entries(pages).map(([path, title]) => ({ text: title, link: `/${path.replace(/\.md$/, "")}` })),
      })),
    )},
  },
};
`;

/** Draws diagrams where a page has one; the drawing program is loaded with the first. */
export const diagramsScript = `let loaded;
const draw = () => {
  const found = document.querySelectorAll(".mermaid:not([data-processed])");
  if (found.length === 0) return;
  loaded ??= new Promise((done) => {
    const script = document.createElement("script");
    script.src = "/mermaid.min.js";
    script.onload = () => done(mermaid.initialize({ startOnLoad: false, theme: "neutral" }));
    document.head.append(script);
  });
  loaded.then(() => mermaid.run({ nodes: found }));
};
new MutationObserver(draw).observe(document, { childList: true, subtree: true });
draw();
`;

/** The page of the API reference: Redoc, with the document beside it. */
export const apiPage = (version) => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>API of Muster ${version}</title>
<style>body { margin: 0 } .back { font: 14px sans-serif; padding: 8px 16px; display: block }</style>
</head>
<body>
<a class="back" href="/index.html">Documentation</a>
<redoc spec-url="/api/openapi.json" disable-search="false" hide-download-button="false"></redoc>
<script src="/api/redoc.standalone.js"></script>
</body>
</html>
`;
