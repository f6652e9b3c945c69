import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { isSea } from "node:sea";
import { exits, Failure, wrongUsage } from "../failure.ts";
import type { Globals, Io } from "../io.ts";
import { promptOf } from "../prompt.ts";
import { scope, version } from "../version.ts";

export type LocalOptions = Globals & { data?: string; port?: string; reset?: boolean; server?: string };

/** The package of the server, and where a version of it is installed. */
export type Server = { name: string; version: string; folder: string };

/**
 * Starts a whole cluster on this machine out of the server's package, which is installed at first use after a question,
 * and ends with it. Its data stay in the folder `data`; `--reset` removes them first. Throws a Failure where npm or the
 * installation is missing.
 */
export async function local(io: Io, options: LocalOptions): Promise<number> {
  if (isSea()) throw wrongUsage(`\`local\` needs npm: use \`npx ${scope}/cli local\` instead of this program`);
  if (scope === null) throw wrongUsage("in a checkout `npm start` starts the cluster");
  if (options.port !== undefined && !/^\d{1,5}$/.test(options.port)) throw wrongUsage("--port is a number");
  const folder = resolve(options.data ?? defaultFolder(io.env));
  const data = join(folder, "data");
  const server = { name: `${scope}/server`, version, folder: join(folder, "server") };
  if (options.reset) await reset(io, options, data);
  const main = mainOf(server);
  if (!existsSync(main)) await install(io, options, server);
  return run(main, io, { MUSTER_DATA_DIR: data, ...(options.port === undefined ? {} : { PORT: options.port }) });
}

/** For root a folder that the user of PostgreSQL can enter, too. */
export function defaultFolder(env: Io["env"], uid = process.getuid?.()): string {
  if (uid === 0) return "/var/lib/muster-local";
  return join(env.XDG_DATA_HOME ?? join(homedir(), ".local", "share"), "muster");
}

/** The program that starts the cluster. */
export function mainOf({ name, version, folder }: Server): string {
  return join(folder, version, "node_modules", ...name.split("/"), "deploy", "local", "dist", "main.js");
}

async function isConfirmed(io: Io, { yes }: Globals, question: string): Promise<boolean> {
  if (yes) return true;
  if (io.stdin.isTTY !== true) throw wrongUsage(`${question} Without a terminal this needs --yes.`);
  const prompt = promptOf(io);
  try {
    return /^y(es)?$/i.test(await prompt.ask(`${question} (y/N)`));
  } finally {
    prompt.close();
  }
}

/** Removes the data of a cluster that does not run. */
async function reset(io: Io, options: LocalOptions, data: string): Promise<void> {
  if (isRunning(data)) throw new Failure(exits.failed, `a cluster runs with ${data}: stop it before --reset`);
  if (!existsSync(data)) return;
  if (!(await isConfirmed(io, options, `Remove all data in ${data}?`)))
    throw new Failure(exits.failed, "nothing was removed");
  rmSync(data, { recursive: true });
}

function isRunning(data: string): boolean {
  const file = join(data, "stack.json");
  if (!existsSync(file)) return false;
  const { supervisor }: { supervisor?: { pid: number } } = JSON.parse(readFileSync(file, "utf8"));
  return supervisor !== undefined && isAlive(supervisor.pid);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}

/** Installs the server's package beside its folder and moves it there as a whole. */
async function install(io: Io, options: LocalOptions, server: Server): Promise<void> {
  const location = join(server.folder, server.version);
  const what = options.server ?? `${server.name}@${server.version}`;
  if (!(await isConfirmed(io, options, `Install ${what}, with PostgreSQL about 120 MB, into ${location}?`))) {
    throw new Failure(exits.failed, "nothing was installed");
  }
  const partial = `${location}.${process.pid}`;
  try {
    mkdirSync(partial, { recursive: true, mode: 0o755 });
    const args = [
      "install",
      "--prefix",
      partial,
      "--no-audit",
      "--no-fund",
      "--ignore-scripts",
      "--no-update-notifier",
    ];
    const code = await npm([...args, options.server === undefined ? what : resolve(options.server)], partial, io);
    if (code !== 0) throw new Failure(exits.failed, `npm did not install ${what} (exit code ${code})`);
    if (!existsSync(mainOf({ ...server, version: `${server.version}.${process.pid}` }))) {
      throw new Failure(exits.failed, `${what} is no ${server.name}`);
    }
    rmSync(location, { recursive: true, force: true });
    renameSync(partial, location);
  } finally {
    rmSync(partial, { recursive: true, force: true });
  }
}

/** npm's report goes to standard error. */
function npm(args: string[], cwd: string, io: Io): Promise<number> {
  const child = spawn("npm", args, { cwd, env: { ...io.env }, stdio: ["ignore", 2, 2] });
  return new Promise((done, fail) => {
    child.once("error", (error) => fail(new Failure(exits.failed, `npm cannot be run: ${error.message}`)));
    child.once("exit", (code) => done(code ?? 1));
  });
}

/** Runs the cluster until it ends; what ends this program is passed on, and the cluster stops in order. */
async function run(main: string, io: Io, settings: Record<string, string>): Promise<number> {
  const args = ["--max-semi-space-size=4", main];
  const child = spawn(process.execPath, args, {
    cwd: dirname(main),
    env: { ...io.env, ...settings },
    stdio: "inherit",
  });
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
  const pass = (name: NodeJS.Signals) => child.kill(name);
  for (const name of signals) process.on(name, pass);
  try {
    return await new Promise((done, fail) => {
      child.once("error", fail);
      child.once("exit", (code) => done(code ?? 1));
    });
  } finally {
    for (const name of signals) process.off(name, pass);
  }
}
