import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Refusal } from "./refusal.mjs";

const git = (root, ...args) => execFileSync("git", args, { cwd: root, encoding: "utf8", stdio: "pipe" }).trim();
const isTagged = (root, version) => git(root, "tag", "--list", `v${version}`) !== "";

/**
 * The commit that a release is made of: `{ revision, epoch }`, its time in seconds. Throws a refusal when the version
 * exists, when the checkout has changes, and, of a version to publish, when the checkout is of another one.
 *
 * @param {{ root: string, folder: string, version: string, unpublished: boolean }} options `folder` is the release's
 */
export function commitOf({ root, folder, version, unpublished }) {
  if (existsSync(folder)) throw new Refusal("exists", `${folder} exists: remove it, or choose another version.`);
  if (!unpublished && isTagged(root, version)) throw new Refusal("exists", `the tag v${version} exists.`);
  const changed = git(root, "status", "--porcelain").split("\n").filter(Boolean);
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
  const [revision, epoch] = git(root, "show", "--no-patch", "--format=%H %ct", "HEAD").split(" ");
  return { revision, epoch: Number(epoch) };
}
