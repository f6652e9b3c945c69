// Loaded before the agent in a test (NODE_OPTIONS=--import): kills this process with SIGKILL before, after or in the
// middle of a change of its files, at random, and notes where. What a killed process leaves is what the next start
// finds.
import childProcess from "node:child_process";
import fs, { appendFileSync, existsSync, readFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { basename, join } from "node:path";
import { stepOf, updateSteps } from "./kill-steps.mjs";

// A step that was not hit KILL_LEAST times yet is hit more often.
const { KILL_PERCENT = "0", KILL_LEAST = "0", KILL_NOTES = "", KILL_FOLDER = "" } = process.env;
const percent = Number(KILL_PERCENT);
const least = Number(KILL_LEAST);
const rarePercent = 40;
const [, program = "", command = ""] = process.argv;
// The installer and the commands of people end in a moment, and are not killed here.
const isOurs = program.endsWith("main.js") && (command === "run" || command === "supervise");

/** What a change is about: its file without what differs from one update to the next. */
function subjectOf(path) {
  const text = String(path);
  if (!text.startsWith(KILL_FOLDER)) return null;
  const name = basename(text).replace(/^\.?(.*?)(\.new)?(\.\d+)?$/, "$1");
  if (/^\d+\.\d+\.\d+-/.test(name)) return name.endsWith(".unverified") ? "unverified" : "version";
  return /jsonl|head|cursor|status|agent\.log|spool/.test(name) ? null : name;
}

/** The step of a stored update, in brackets; empty when there is none. */
function storedStep(path) {
  try {
    return ` (${JSON.parse(readFileSync(path, "utf8")).step})`;
  } catch {
    return "";
  }
}

/** Where a call is: its process, what it does to what, and the stored step, which a rename may be about to store. */
function pointOf(verb, subject, args) {
  const isStore = verb === "rename" && subject === "update.json";
  return `${command} ${verb} ${subject}${storedStep(isStore ? args[0] : join(KILL_FOLDER, "state", "update.json"))}`;
}

function isRare(step) {
  if (step === null) return false;
  const notes = readFileSync(KILL_NOTES, "utf8").split("\n");
  return notes.filter((note) => note.startsWith(`${step}\t`)).length < least;
}

/** Whether this process dies at a point: "before" or "after" it, or not. */
function fateOf(point) {
  const step = stepOf(updateSteps, point);
  const chance = isRare(step) ? rarePercent : percent;
  if (Math.random() * 100 >= chance || existsSync(`${KILL_NOTES}.over`)) return null;
  return { when: Math.random() < 0.5 ? "before" : "after", step, point };
}

function die({ when, step, point }) {
  appendFileSync(KILL_NOTES, `${step ?? "others"}\t${when}\t${point}\n`);
  process.kill(process.pid, "SIGKILL");
}

/** Replaces a function: `about` says what a call does to what, or null for one that is none of the agent's files. */
function replace(owner, name, about, after = (_result, fate) => fate && die(fate)) {
  const original = owner[name];
  owner[name] = function (...args) {
    const [verb, subject] = about(...args) ?? [];
    const fate = subject ? fateOf(pointOf(verb, subject, args)) : null;
    if (fate?.when === "before") die(fate);
    const result = original.apply(this, args);
    after(result, fate);
    return result;
  };
}

/** A file that is written dies in its middle: with the first bytes, before the others. */
async function dieWhileWriting(opened, fate) {
  if (!fate) return;
  const file = await opened.catch(() => null);
  if (file && fate.point.includes(" write ")) {
    const { writeFile } = file;
    file.writeFile = async (bytes) => {
      await writeFile.call(file, bytes.subarray(0, Math.ceil(bytes.length / 2)));
      die(fate);
    };
  } else die(fate);
}

if (percent > 0 && isOurs) {
  // Of a rename and a link the new name counts.
  for (const verb of ["open", "rm", "mkdir", "chmod"]) replace(fs, `${verb}Sync`, (path) => [verb, subjectOf(path)]);
  for (const verb of ["rename", "symlink", "link"]) replace(fs, `${verb}Sync`, (_from, to) => [verb, subjectOf(to)]);
  const opening = (flags) => (flags === "r" ? "read" : Math.random() < 0.5 ? "write" : "open");
  replace(fs.promises, "open", (path, flags) => [opening(flags), subjectOf(path)], dieWhileWriting);
  replace(
    fs,
    "createWriteStream",
    (path) => ["unpack", subjectOf(path)],
    (stream, fate) => fate && stream.on("close", () => die(fate)),
  );
  replace(childProcess, "execFile", (path) => ["start", subjectOf(path)]);
  replace(childProcess, "spawn", (path, args) => ["start", subjectOf(path) && args?.[0] === "run" ? "agent" : null]);
  replace(process, "kill", (_pid, signal) => ["signal", signal === "SIGUSR2" ? "watchdog" : null]);
  syncBuiltinESMExports();
}
