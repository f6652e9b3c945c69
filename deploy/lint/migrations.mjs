// Fails on a varchar column with a list of words in its CHECK: PostgreSQL dumps the expression in one form and restores
// it in another, so that a restored schema differs from what was there. Such a column is text. And on two migrations of
// one number: their order would be that of their names.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../", import.meta.url));
const listed = /varchar\(\d+\)[^,]*CHECK \(\w+ IN \(/;
/** Applied, and its column is text since the named migration. */
const mended = { "services/tenancy/migrations/0126_bulk_jobs.sql": "0128_bulk_job_states.sql" };

if (!listed.test("state varchar(10) NOT NULL CHECK (state IN ('a'))")) throw new Error("a planted column is not found");
const paths = execFileSync("git", ["ls-files", "services/*/migrations/*.sql", "libs/*.sql"], {
  cwd: root,
  encoding: "utf8",
});
for (const path of paths.split("\n").filter((each) => each !== "" && !(each in mended))) {
  for (const [at, line] of readFileSync(`${root}${path}`, "utf8").split("\n").entries()) {
    if (!listed.test(line)) continue;
    console.error(`${path}:${at + 1}: a varchar with a list of words in its CHECK: make it text`);
    process.exitCode = 1;
  }
}
const numbers = new Map();
for (const path of paths.split("\n").filter((each) => each !== "")) {
  const number = path.replace(/(\d+)_[^/]*$/, "$1");
  if (numbers.has(number)) {
    console.error(`${path} and ${numbers.get(number)} have one number`);
    process.exitCode = 1;
  }
  numbers.set(number, path);
}
