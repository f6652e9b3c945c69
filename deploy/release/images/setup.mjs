import { cpSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { bundleTo } from "../npm/server.mjs";
import { packagesOf } from "../sbom.mjs";

/** What the program reads besides its bundle, as it finds it in a checkout. */
const copied = ["deploy/nats", "deploy/sql/roles.sql", "libs/db/migrations", "libs/service/migrations", "LICENSE"];

/** Packages that the bundle loads when it runs. */
const loaded = ["undici"];

/** Writes the program that makes keys, roles and schemas. Returns the packages that are in its bundle. */
export async function fillSetup({ tree, version }, folder) {
  const migrations = readdirSync(join(tree, "services")).map((name) => `services/${name}/migrations`);
  for (const path of [...copied, ...migrations, ...loaded.map((name) => `node_modules/${name}`)]) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    cpSync(join(tree, path), join(folder, path), { recursive: true });
  }
  writeFileSync(join(folder, "package.json"), `${JSON.stringify({ type: "module", version }, null, 2)}\n`);
  const input = { "compose-setup.js": join(tree, "deploy/local/src/compose-setup.ts") };
  const modules = await bundleTo(tree, folder, "deploy/local/dist", input);
  return packagesOf([...modules, ...loaded.map((name) => join(tree, "node_modules", name, "index.js"))]);
}
