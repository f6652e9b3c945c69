import { spawn } from "node:child_process";
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "@jest/globals";
import { freePort } from "@muster/local";
import { until } from "@muster/testing";
import { prepareDataDir } from "../support/data-template.ts";
import { processesOf } from "../support/processes.ts";

const supervisor = fileURLToPath(new URL("../../../deploy/local/dist/main.js", import.meta.url));
const folders: string[] = [];
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** Those that are stopped with the supervisor. */
const processes = [
  "agent-release",
  "audit",
  "audit-retention",
  "device-logs",
  "gateway",
  "identity",
  "tenancy",
  "webhook-dispatcher",
];

/** What the processes logged. */
function linesOf(dataDir: string): { service: string; msg: string }[] {
  const logs = join(dataDir, "logs");
  const texts = readdirSync(logs).map((name) => readFileSync(join(logs, name), "utf8"));
  return texts
    .flatMap((text) => text.split("\n"))
    .filter((line) => line.includes('"msg":'))
    .map((line) => JSON.parse(line));
}

type Start = {
  program: string;
  args: string[];
  env?: Record<string, string>;
  signal: NodeJS.Signals;
  /** The data folder is empty: the start makes keys, database and schemas. */
  first?: true;
};
const alone: Start = { program: process.execPath, args: [supervisor], signal: "SIGKILL" };
/** As npm runs it: in a shell, which is all that a `kill` of npm ends. */
const byNpm: Start = {
  program: "sh",
  args: ["-c", '"$0" "$1"; exit $?', process.execPath, supervisor],
  env: { npm_lifecycle_event: "start" },
  signal: "SIGTERM",
};

/** What a person types; npm passes Ctrl-C's signal on to what it started. */
const typed: Start = { program: "npm", args: ["start"], signal: "SIGINT" };

async function killedOnce(
  isTime: (said: string, processes: readonly string[]) => boolean,
  { program, args, env, signal, first }: Start = alone,
): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "muster-killed-"));
  folders.push(folder);
  chmodSync(folder, 0o711);
  const dataDir = join(folder, "data");
  if (!first) await prepareDataDir(dataDir);
  const stackEnv = { PORT: String(await freePort()), MUSTER_DATA_DIR: dataDir, PASSWORD_SCRYPT_LOG_N: "12" };
  const child = spawn(program, args, {
    env: { ...process.env, ...stackEnv, ...env },
    stdio: ["ignore", "pipe", "ignore"],
  });
  let said = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    said += text;
  });
  await until("the moment", () => isTime(said, processesOf(dataDir)), 120_000);
  expect(processesOf(dataDir).length).toBeGreaterThan(2);
  child.kill(signal);
  return dataDir;
}

describe("nothing of a cluster outlives its killed supervisor", () => {
  it("when it was killed while the services were migrated", async () => {
    // The last line that the supervisor prints before it migrates.
    const dataDir = await killedOnce((said) => said.includes("NATS"), { ...alone, first: true });
    await until("all of it to end", () => processesOf(dataDir).length === 0, 60_000);
  }, 240_000);

  it("when it was killed while the services started", async () => {
    const dataDir = await killedOnce((_, all) =>
      all.some((each) => each.includes("/services/identity/dist/bundle/main.js --")),
    );
    await until("all of it to end", () => processesOf(dataDir).length === 0, 60_000);
  }, 240_000);

  it("when it was killed after all was ready", async () => {
    const dataDir = await killedOnce((said) => said.includes("Muster is ready"));
    await until("all of it to end", () => processesOf(dataDir).length === 0, 60_000);
  }, 240_000);

  it("when npm left it running after a stop signal", async () => {
    const dataDir = await killedOnce((said) => said.includes("Muster is ready"), byNpm);
    await until("all of it to end", () => processesOf(dataDir).length === 0, 60_000);
  }, 240_000);

  it("when npm received an interrupt that came from no terminal, and each process stopped all that it started", async () => {
    const dataDir = await killedOnce((said) => said.includes("Muster is ready"), typed);
    await until("all of it to end", () => processesOf(dataDir).length === 0, 60_000);
    const logs = linesOf(dataDir);
    expect(
      logs
        .filter(({ msg }) => msg === "stopped")
        .map(({ service }) => service)
        .sort(),
    ).toEqual(processes);
    expect(logs.filter(({ msg }) => msg === "something was not stopped")).toEqual([]);
  }, 240_000);
});
