import { join } from "node:path";
import { natsComponents } from "../images/nats.mjs";
import { component, packagesOf } from "../sbom.mjs";

/** Bundles name the module before its code. */
const moduleName = /^\/\/ (node_modules\/[^\s]+)$/gm;

/** Packages that npm installs beside the server, with those that they need, as the lock file has them. */
function installed({ packages }, names) {
  const found = new Set(names);
  for (const name of found) {
    for (const needed of Object.keys(packages[`node_modules/${name}`].dependencies ?? {})) found.add(needed);
  }
  return [...found].map((name) => {
    const { version, license } = packages[`node_modules/${name}`];
    return component(name, version, `pkg:npm/${name.replace("@", "%40")}@${version}`, license);
  });
}

/**
 * What the package of the server has in its bundles, what npm installs beside it, and the nats-server that it fetches:
 * components of a bill of materials, each once.
 */
export function serverComponents({ tree, lock, texts, modules, loaded }) {
  const bundledModules = texts.flatMap((text) => [...text.matchAll(moduleName)].map(([, path]) => join(tree, path)));
  const all = [...packagesOf([...modules, ...bundledModules]), ...installed(lock, loaded), ...natsComponents(tree)];
  return [...new Map(all.map((each) => [each.purl, each])).values()];
}
