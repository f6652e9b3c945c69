import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Refusal } from "./refusal.mjs";

const git = (root, ...args) => execFileSync("git", args, { cwd: root, encoding: "utf8", stdio: "pipe" }).trim();
const isTagged = (root, version) => git(root, "tag", "--list", `v${version}`) !== "";

/**
 * The commit that a release is made of: `{ revision, epoch }`, its time in seconds. Throws a refusal when the version
 * exists, when the checkout has changes, when it has no such commit, and, of a version to publish, when the checkout is
 * of another one.
 *
 * @param {{ root: string, folder: string, version: string, unpublished: boolean, commit?: string }} options
 *   `folder` is the release's, `commit` another one than the checkout's
 */
export function commitOf({ root, folder, version, unpublished, commit = "HEAD" }) {
  if (existsSync(folder)) throw new Refusal("exists", `${folder} exists: remove it, or choose another version.`);
  if (!unpublished && isTagged(root, version)) throw new Refusal("exists", `the tag v${version} exists.`);
  const changed = commit === "HEAD" ? git(root, "status", "--porcelain").split("\n").filter(Boolean) : [];
  if (changed.length > 0) {
    throw new Refusal("dirty", `the checkout has changes that no commit holds, such as${changed[0].slice(2)}.`);
  }
  const own = JSON.parse(readFileSync(join(root, "package.json"), "utf8")).version;
  if (!unpublished && own !== version) {
    throw new Refusal(
      "version",
      `the checkout is version ${own}: node deploy/release/stamp.mjs ${version}, then commit.`,
    );
  }
  const found = spawnSync("git", ["rev-parse", "--verify", "--quiet", "--end-of-options", `${commit}^{commit}`], {
    cwd: root,
    encoding: "utf8",
  });
  if (found.status !== 0) throw new Refusal("usage", `the checkout has no commit ${commit}.`);
  const [revision, epoch] = git(root, "show", "--no-patch", "--format=%H %ct", found.stdout.trim()).split(" ");
  return { revision, epoch: Number(epoch) };
}
