import { cpSync, mkdirSync, mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { checksumFile } from "../checksums.mjs";
import { differencesIn, differing } from "./differences.mjs";
import { run } from "./tools.mjs";

const root = fileURLToPath(new URL("../../../", import.meta.url));
/** Another time, zone and language: the release is the commit's. */
const elsewhere = { TZ: "Asia/Tokyo", LC_ALL: "C", FAKETIME_DONT_FAKE_MONOTONIC: "1" };
const faketime = ["faketime", "-f", "+65m"];

/**
 * The commit makes the same files again: in another folder, by a clock an hour ahead and with another umask. Takes as
 * long as a release. Where files differ, the second release is kept, and what differs in them is named.
 */
export async function checkAgain({ folder, release, work, say }) {
  const { second, clock } = makeAgain({ release, work });
  const sums = [folder, second].map((each) => readFileSync(join(each, checksumFile), "utf8"));
  const changed = differing(...sums);
  if (changed.length > 0) {
    const kept = mkdtempSync(join(tmpdir(), "muster-again-"));
    cpSync(second, kept, { recursive: true });
    const lines = [];
    for (const path of changed) {
      const found = await differencesIn(path, [folder, second], join(work, "differences"));
      lines.push(path, ...found.map((each) => `  ${each}`));
    }
    throw new Error(`made again (${kept}), these files are others:\n${lines.join("\n")}`);
  }
  say(`made again by ${clock}: every file is the same`);
}

/** Makes the release once more: `{ second, clock }`, its folder and whose time it was made by. */
export function makeAgain({ release, work }) {
  const { version, revision, scope, registry, options = {} } = release;
  const [checkout, out] = [join(work, "deeper", "checkout"), join(work, "out")];
  mkdirSync(work, { recursive: true });
  run("git", ["clone", "--quiet", "--no-checkout", root, checkout]);
  run("git", ["checkout", "--quiet", revision], { cwd: checkout });
  const args = [version, "--unpublished", "--scope", scope, "--registry", registry, "--out", out];
  for (const [name, value] of Object.entries(options)) for (const each of [value].flat()) args.push(`--${name}`, each);
  const umask = process.umask(0o077);
  const ahead = clockAhead();
  try {
    const [program, ...before] = [...ahead, process.execPath, join("deploy", "release", "release.mjs")];
    run(program, [...before, ...args], { cwd: checkout, env: { ...process.env, ...elsewhere } });
  } finally {
    process.umask(umask);
  }
  const clock = ahead.length > 0 ? "a clock an hour ahead" : "the same clock (no faketime)";
  return { second: join(out, version), clock };
}

/** What a program is started with to see another time; nothing without faketime. */
function clockAhead() {
  try {
    run("faketime", ["--version"]);
    return faketime;
  } catch {
    return [];
  }
}
