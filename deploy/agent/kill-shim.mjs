// Loaded before the agent in a test (NODE_OPTIONS=--import): kills this process with SIGKILL before or after a change
// of its files, at random, and notes where. What a killed process leaves is what the next start finds.
import fs, { appendFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { basename } from "node:path";

const { KILL_PERCENT = "0", KILL_NOTES = "", KILL_FOLDER = "" } = process.env;
const percent = Number(KILL_PERCENT);
const [, program = "", command = ""] = process.argv;
// The installer and the commands of people end in a moment, and are not killed here.
const isOurs = program.endsWith("main.js") && (command === "run" || command === "supervise");

/** What a change is about: its file without what differs from one update to the next. */
function subjectOf(path) {
  const text = String(path);
  if (!text.startsWith(KILL_FOLDER)) return null;
  const name = basename(text).replace(/^\.?(.*?)(\.new)?$/, "$1");
  if (/^\d+\.\d+\.\d+-/.test(name)) return name.endsWith(".unverified") ? "unverified" : "version";
  return /jsonl|head|cursor|status|agent\.log/.test(name) ? null : name;
}

if (percent > 0 && isOurs) {
  for (const name of ["openSync", "renameSync", "symlinkSync", "rmSync", "mkdirSync", "chmodSync"]) {
    const original = fs[name];
    fs[name] = (...args) => {
      // Of a rename and a link the new name counts.
      const subject = subjectOf(name === "renameSync" || name === "symlinkSync" ? args[1] : args[0]);
      const dies = subject !== null && Math.random() * 100 < percent;
      const isBefore = Math.random() < 0.5;
      const result = dies && isBefore ? undefined : original(...args);
      if (dies) {
        appendFileSync(
          KILL_NOTES,
          `${command} ${isBefore ? "before" : "after"} ${name.replace("Sync", "")} ${subject}\n`,
        );
        process.kill(process.pid, "SIGKILL");
      }
      return result;
    };
  }
  syncBuiltinESMExports();
}
