import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { checksumFile } from "../checksums.mjs";
import { must, run } from "./tools.mjs";

const root = fileURLToPath(new URL("../../../", import.meta.url));
/** Another time, zone and language: the release is the commit's. */
const elsewhere = { TZ: "Asia/Tokyo", LC_ALL: "C", FAKETIME_DONT_FAKE_MONOTONIC: "1" };
const ahead = ["faketime", "-f", "+65m"];

/** Paths of what two lists of checksums have differently, or only one of them. */
export function differing(one, other) {
  const [lines, others] = [one, other].map((text) => new Set(text.split("\n").filter(Boolean)));
  const found = [...lines].filter((line) => !others.has(line)).concat([...others].filter((line) => !lines.has(line)));
  return [...new Set(found.map((line) => line.slice(line.indexOf("  ") + 2)))].sort();
}

/**
 * The commit makes the same files again: in another folder, by a clock an hour ahead and with another umask. Takes as
 * long as a release.
 */
export function checkAgain({ folder, release, work, say }) {
  const { version, revision, scope, registry, options = {} } = release;
  const [checkout, out] = [join(work, "deeper", "checkout"), join(work, "out")];
  mkdirSync(work, { recursive: true });
  run("git", ["clone", "--quiet", "--no-checkout", root, checkout]);
  run("git", ["checkout", "--quiet", revision], { cwd: checkout });
  const args = [version, "--unpublished", "--scope", scope, "--registry", registry, "--out", out];
  for (const [name, value] of Object.entries(options)) for (const each of [value].flat()) args.push(`--${name}`, each);
  const umask = process.umask(0o077);
  const clock = clockAhead();
  try {
    const [program, ...before] = [...clock, process.execPath, join("deploy", "release", "release.mjs")];
    run(program, [...before, ...args], { cwd: checkout, env: { ...process.env, ...elsewhere } });
  } finally {
    process.umask(umask);
  }
  const [first, second] = [folder, join(out, version)].map((each) => readFileSync(join(each, checksumFile), "utf8"));
  const changed = differing(first, second);
  must(changed.length === 0, `made again, these files are others:\n${changed.join("\n")}`);
  say(
    `made again${clock.length > 0 ? " by a clock an hour ahead" : ", by the same clock (no faketime)"}: every file is the same`,
  );
}

/** What a program is started with to see another time; nothing without faketime. */
function clockAhead() {
  try {
    run("faketime", ["--version"]);
    return ahead;
  } catch {
    return [];
  }
}
