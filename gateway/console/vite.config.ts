import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { defineConfig, type Plugin } from "vite";
import { chunkGroups } from "./chunks.ts";
import { paths } from "./paths.ts";

const root = fileURLToPath(new URL(".", import.meta.url));
/** Where the build goes, and the stack behind the development server. */
const { CONSOLE_OUT: out = join(root, "dist"), MUSTER_URL: stack = "http://localhost:3000" } = process.env;
const pages = {
  index: join(root, "index.html"),
  "sign-in": join(root, "sign-in.html"),
  portal: join(root, "portal.html"),
};
const compressible = /\.(js|css|html|svg)$/;

/**
 * Writes a compressed copy of each file, the list of paths that are pages, for the gateway, and that of its own files,
 * since earlier ones are kept beside them.
 */
function served(): Plugin {
  return {
    name: "served",
    apply: "build",
    closeBundle() {
      mkdirSync(out, { recursive: true });
      for (const name of readdirSync(out, { recursive: true, encoding: "utf8" })) {
        if (!compressible.test(name)) continue;
        const file = join(out, name);
        const bytes = readFileSync(file);
        writeFileSync(`${file}.gz`, gzipSync(bytes, { level: 9 }));
        writeFileSync(
          `${file}.br`,
          brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length } }),
        );
      }
      const own = readdirSync(join(out, "assets")).filter((name) => !/\.(gz|br)$/.test(name));
      writeFileSync(join(out, "assets.json"), JSON.stringify(own));
      writeFileSync(join(out, "paths.json"), JSON.stringify(paths));
    },
  };
}

/** The development server answers pages as the gateway does. */
function pagesAsServed(): Plugin {
  return {
    name: "pages-as-served",
    configureServer({ middlewares }) {
      middlewares.use((request, _response, next) => {
        const segment = /^\/([^/?]*)/.exec(request.url ?? "")?.[1] ?? "";
        if ((paths.portal as readonly string[]).includes(segment)) request.url = "/portal.html";
        else if ((paths.signIn as readonly string[]).includes(segment)) request.url = "/sign-in.html";
        else if ((paths.app as readonly string[]).includes(segment)) request.url = "/index.html";
        next();
      });
    },
  };
}

export default defineConfig({
  root,
  appType: "mpa",
  // Sources of our own packages: the console needs no compiled client.
  resolve: { conditions: ["source", "module", "browser", "production"] },
  plugins: [served(), pagesAsServed()],
  build: {
    outDir: out,
    emptyOutDir: true,
    target: "es2023",
    // The policy permits no inline code, and of data: URLs only images.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    rolldownOptions: {
      // Packages for React servers mark their files, which means nothing in a browser.
      onLog: (level, entry, report) => {
        if (entry.code !== "MODULE_LEVEL_DIRECTIVE") report(level, entry);
      },
      input: pages,
      output: {
        codeSplitting: { groups: chunkGroups(pages, "index") },
        // A page and the operations of its records have one name: the file says which of them it is.
        chunkFileNames: ({ facadeModuleId }) =>
          `assets/${/[/\\]src[/\\]operations[/\\]/.test(facadeModuleId ?? "") ? "do-" : ""}[name]-[hash].js`,
      },
    },
  },
  server: {
    port: 5173,
    // A running stack behind the development server: one origin, as in production.
    proxy: { "/api": stack },
  },
});
