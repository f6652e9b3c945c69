import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { notesOf } from "./changelog.mjs";
import { commitOf } from "./checkout.mjs";
import { parts } from "./parts.mjs";

/**
 * Makes a release in `folder`, which appears whole or not at all: everything is written beside it and renamed at the
 * end. What this machine cannot make is named in release.json. Throws a refusal otherwise.
 *
 * @param {{ root: string, folder: string, options: object, say: (line: string) => void }} request
 */
export async function makeRelease({ root, folder, options, say }, made = parts) {
  const { version, unpublished, commit } = options;
  const notes = notesOf(readFileSync(join(root, "CHANGELOG.md"), "utf8"), version, { unpublished });
  const { revision, epoch } = commitOf({ root, folder, version, unpublished, commit });
  removeAbandoned(folder);
  const staging = join(dirname(folder), `.${basename(folder)}.${process.pid}`);
  const context = { ...options, root, revision, epoch, notes, say, digests: new Map(), notMade: [] };
  context.out = join(staging, "out");
  context.work = join(staging, "work");
  context.tree = join(staging, "tree");
  const remove = () => rmSync(staging, { recursive: true, force: true });
  const onSignal = (name) => {
    remove();
    process.exit(name === "SIGINT" ? 130 : 143);
  };
  const signals = ["SIGINT", "SIGTERM"];
  for (const name of signals) process.once(name, onSignal);
  try {
    for (const each of [context.out, context.work, context.tree]) mkdirSync(each, { recursive: true });
    for (const part of made) {
      if (!part.always && options.only.length > 0 && !options.only.includes(part.name)) {
        context.notMade.push({ part: part.name, reason: "left out by --only" });
        continue;
      }
      const began = performance.now();
      await part.make(context);
      say(`${part.name}: ${((performance.now() - began) / 1000).toFixed(1)} s`);
    }
    renameSync(context.out, folder);
    for (const { part, reason } of context.notMade) say(`not made: ${part}: ${reason}`);
    say(folder);
  } finally {
    for (const name of signals) process.removeListener(name, onSignal);
    remove();
  }
}

/** Removes what a killed release of the same version has left. */
function removeAbandoned(folder) {
  const parent = dirname(folder);
  if (!existsSync(parent)) return;
  for (const name of readdirSync(parent)) {
    const pid = name.startsWith(`.${basename(folder)}.`) ? Number(name.split(".").at(-1)) : Number.NaN;
    if (pid > 0 && !isRunning(pid)) rmSync(join(parent, name), { recursive: true, force: true });
  }
}

function isRunning(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === "EPERM";
  }
}
