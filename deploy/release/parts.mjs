import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { partOfTree } from "./build.mjs";
import { makeChart } from "./chart.mjs";
import { writeChecksums } from "./checksums.mjs";
import { makeCompose } from "./compose.mjs";
import { writeInventory } from "./inventory.mjs";
import { writeLicenses } from "./licenses.mjs";
import { sign } from "./signature.mjs";
import { makeTree } from "./tree.mjs";

/**
 * Parts of a release in the order in which they are made: chart and compose file name the images' digests, the
 * checksums all files. `always` are those that `--only` does not leave out.
 */
export const parts = [
  { name: "tree", always: true, make: makeTree },
  partOfTree("npm", "npm.mjs", "makePackages"),
  partOfTree("programs", "programs.mjs", "makePrograms"),
  partOfTree("agent", "agent.mjs", "makeAgent"),
  partOfTree("site", "site.mjs", "makeSite"),
  partOfTree("images", "images.mjs", "makeImages"),
  { name: "chart", make: makeChart },
  { name: "compose", make: makeCompose },
  { name: "notes", always: true, make: ({ out, notes }) => writeFileSync(join(out, "notes.md"), notes) },
  { name: "licenses", always: true, make: writeLicenses },
  { name: "inventory", always: true, make: writeInventory },
  { name: "checksums", always: true, make: ({ out }) => writeChecksums(out) },
  { name: "signature", always: true, make: sign },
];

/** Names of what `--only` takes. */
export const partNames = parts.filter(({ always }) => !always).map(({ name }) => name);
