// Bundles the processes of the cluster into `dist/bundle` of each: a process starts from a few files instead of a
// thousand (docs/decisions/0119-the-cluster-runs-bundles-of-its-processes.md). `node bundle.mjs FOLDER…`.
import { mkdirSync, readdirSync, renameSync, statSync, unlinkSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..", "..");
const entry = /^(main|retention-main)\.ts$/;
/** Milliseconds for which a process that runs may still load a chunk of the build before. */
const keptMs = 24 * 3_600_000;

/** Folders of what is bundled. */
export const bundled = () => ["gateway", ...readdirSync(join(root, "services")).map((name) => `services/${name}`)];

/**
 * A module finds what lies beside its source (migrations, workers, schemas) as it does alone: `import.meta.url` is the
 * URL of its file, told from where the bundle is.
 */
export const ownUrls = (out) => ({
  name: "own-urls",
  transform: {
    filter: { code: /\bimport\.meta\.url\b/ },
    handler(code, id) {
      // A module of the bundler itself is no file: a path to it would begin at the folder that the command ran in.
      if (id.startsWith("\0")) return null;
      const path = JSON.stringify(relative(out, id).replaceAll("\\", "/"));
      // No line is added: the source map stays right.
      return { code: code.replace(/\bimport\.meta\.url\b/g, `new URL(${path}, import.meta.url).href`), map: null };
    },
  },
});

/**
 * Bundles sources, with packages in chunks of their own: Node reads every source map at the start of a process, and
 * those of packages would take 25 MB of it.
 */
async function bundle(folder) {
  // Not installed when prepare.mjs is loaded.
  const { rolldown } = await import("rolldown");
  const from = join(root, folder, "src");
  const out = join(root, folder, "dist", "bundle");
  const names = readdirSync(from).filter((name) => entry.test(name));
  const build = await rolldown({
    input: Object.fromEntries(names.map((name) => [name.slice(0, -".ts".length), join(from, name)])),
    cwd: root,
    platform: "node",
    resolve: { conditionNames: ["source", "node"] },
    plugins: [ownUrls(out)],
  });
  const { output } = await build.generate({
    dir: out,
    format: "esm",
    entryFileNames: "[name].js",
    chunkFileNames: "[name]-[hash].js",
    codeSplitting: { groups: [{ name: "packages", test: /\/(node_modules|proto\/gen)\//, entriesAware: true }] },
    sourcemap: true,
    sourcemapExcludeSources: true,
  });
  await build.close();
  mkdirSync(out, { recursive: true });
  const isEntry = ({ type, isEntry }) => Number(type === "chunk" && isEntry);
  const written = new Set();
  for (const file of output.sort((a, b) => isEntry(a) - isEntry(b))) {
    const { fileName } = file;
    const isOfPackages = fileName.startsWith("packages");
    if (isOfPackages && fileName.endsWith(".map")) continue;
    const text = file.type === "chunk" ? file.code : file.source;
    replaceFile(join(out, fileName), isOfPackages ? text.replace(/\n\/\/# sourceMappingURL=.*\n?$/, "\n") : text);
    written.add(fileName);
  }
  for (const name of readdirSync(out)) {
    const isOld = Date.now() - statSync(join(out, name)).mtimeMs > keptMs;
    if (!written.has(name) && isOld) unlinkSync(join(out, name));
  }
}

/** A process that starts meanwhile reads the old file or the new one. */
function replaceFile(path, content) {
  const next = `${path}.${process.pid}`;
  writeFileSync(next, content);
  renameSync(next, path);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const folder of process.argv.slice(2)) await bundle(folder);
}
