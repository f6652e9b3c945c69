import { execFileSync } from "node:child_process";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { stamp } from "./stamp.mjs";

/** The commit's files with the version written in: no file that git does not know gets into a release. */
export function makeTree({ root, tree, work, revision, version }) {
  const archive = join(work, "tree.tar");
  execFileSync("git", ["archive", "--format=tar", "-o", archive, revision], { cwd: root });
  execFileSync("tar", ["-xf", archive, "-C", tree]);
  rmSync(archive);
  stamp(tree, version);
}
