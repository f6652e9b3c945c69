import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Files of packages that pages load: only these files are needed, not what the packages were made of. */
const bundles = {
  "redoc@2.5.1": {
    file: "bundles/redoc.standalone.js",
    integrity: "LmqA+4A3CmhTllGG197F0arUpmChukAj9klfSdxNRemT9Hr07xXr7OGKu4PHzBs359sgrJ+4JwmOlM7nxLPGMg==",
  },
  "mermaid@11.12.0": {
    file: "dist/mermaid.min.js",
    integrity: "ZudVx73BwrMJfCFmSSJT84y6u5brEoV8DOItdHomNLz32uBjNrelm7mg95X7g+C6UoQH/W6mBLGDEDv73JdxBg==",
  },
};

/** Packages whose files are in the site, with their licenses. */
export const bundled = Object.keys(bundles).map((each) => ({ spec: each, license: "MIT" }));

/** Bytes of a package's file, which npm fetches once per machine. Throws where the SHA-512 is not the pinned one. */
export function bundleOf(name, cache) {
  const spec = Object.keys(bundles).find((each) => each.startsWith(`${name}@`));
  const { file, integrity } = bundles[spec];
  const archive = join(cache, `${spec.replace("@", "-")}.tgz`);
  if (!existsSync(archive)) {
    mkdirSync(cache, { recursive: true });
    execFileSync("npm", ["pack", "--silent", "--pack-destination", cache, spec], {
      stdio: ["ignore", "ignore", "inherit"],
    });
  }
  const found = createHash("sha512").update(readFileSync(archive)).digest("base64");
  if (found !== integrity) throw new Error(`${spec} has SHA-512 ${found}, ${integrity} is pinned`);
  return execFileSync("tar", ["-xzOf", archive, `package/${file}`], { maxBuffer: 64 << 20 });
}
