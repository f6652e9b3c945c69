import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, open, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { until } from "@muster/testing";

const maker = fileURLToPath(new URL("../../../deploy/local/dist/make-template.js", import.meta.url));
const makeMs = 120_000;
const tries = 2;
/** Milliseconds after which a try that hangs is killed; the processes that it started end with it. */
const tryMs = 50_000;

/**
 * Puts a data folder with keys, database and migrated schemas into place, copied from one that the run makes once: a
 * cluster that starts there is ready seconds earlier. Leaves the start to do all that where such a folder cannot be
 * copied.
 */
export async function prepareDataDir(dataDir: string): Promise<void> {
  const template = await madeTemplate();
  if (template === null) return;
  // Not fs.cp: PostgreSQL's files keep the owner that they have.
  const status = await statusOf("cp", ["-a", template, dataDir]);
  if (status !== 0) throw new Error(`copying ${template} ended with status ${status}`);
}

/** The template of this run, made by the first suite; null where none can be made. */
async function madeTemplate(): Promise<string | null> {
  const directory = process.env.MUSTER_E2E_DIR;
  if (!directory || process.platform === "win32") return null;
  const outcome = join(directory, "template.outcome");
  const template = join(directory, "template");
  if (await isFirst(join(directory, "template.making"))) {
    // As root PostgreSQL runs as another user, which must be able to pass.
    await chmod(directory, 0o711);
    const status = await make(template);
    await writeFile(`${outcome}.new`, String(status));
    await rename(`${outcome}.new`, outcome);
  }
  await until("the template of data folders", () => existsSync(outcome), makeMs);
  const status = await readFile(outcome, "utf8");
  if (status === "3") return null;
  if (status !== "0") throw new Error(`making a template of data folders ended with status ${status}`);
  return template;
}

/** The maker's exit status; null when it was killed in each try. */
async function make(template: string): Promise<number | null> {
  for (let n = 1; n <= tries; n++) {
    const folder = `${template}.${n}`;
    const status = await statusOf(process.execPath, [maker], { MUSTER_DATA_DIR: folder });
    if (status === 0) await rename(folder, template);
    if (status !== null) return status;
    console.error(`making a template of data folders took more than ${tryMs} ms`);
  }
  return null;
}

/** True for one caller of all processes. */
async function isFirst(file: string): Promise<boolean> {
  try {
    await (await open(file, "wx")).close();
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    return false;
  }
}

function statusOf(program: string, args: string[], env: Record<string, string> = {}): Promise<number | null> {
  const child = spawn(program, args, {
    stdio: ["ignore", "ignore", "inherit"],
    env: { ...process.env, NODE_OPTIONS: "", ...env },
    timeout: tryMs,
    killSignal: "SIGKILL",
  });
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", resolve);
  });
}
