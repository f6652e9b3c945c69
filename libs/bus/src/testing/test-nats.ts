import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { serviceNames } from "@muster/kit";
import { generateNkey } from "../nkey.ts";

export const natsServices = [...serviceNames, "gateway"] as const;

export type NatsService = (typeof natsServices)[number];

export type TestNats = {
  url: string;
  seeds: Record<NatsService, string>;
  publicKeys: Record<NatsService, string>;
  /** Everything that the streams keep; may be copied, swapped or deleted while the server is down. */
  storeDir: string;
  /** Process id of the running server. */
  pid(): number;
  /** Ends the server as a power failure would, and resolves when it has ended. */
  kill9(): Promise<void>;
  stop(): Promise<void>;
  /** Starts it again on the same port with the same store and users. */
  start(): Promise<void>;
  /** Stops it and deletes all it kept. */
  remove(): Promise<void>;
};

const startTimeoutMs = 20_000;
const configFolder = fileURLToPath(new URL("../../../../deploy/nats/", import.meta.url));
/** Password of the users `operator-<STREAM>`. */
export const operatorPassword = "operator";

/**
 * An own nats-server with the real configuration and permission file on a free loopback port, with fresh users and an
 * empty store. `bin` defaults to the one that the test run has prepared. `withOperators` adds a user
 * `operator-<STREAM>` to the account of each stream, who may do everything there.
 */
export async function testNats(options: { bin?: string; withOperators?: boolean } = {}): Promise<TestNats> {
  const bin = options.bin ?? process.env.MUSTER_TEST_NATS_BIN;
  if (!bin) throw new Error("MUSTER_TEST_NATS_BIN names no nats-server: run the tests through npm test");
  const folder = mkdtempSync(join(tmpdir(), "muster-nats-"));
  const storeDir = join(folder, "store");
  const configFile = join(options.withOperators ? addOperators(folder) : configFolder, "nats-server.conf");
  const pairs = natsServices.map((service) => [service, generateNkey()] as const);
  const seeds = Object.fromEntries(pairs.map(([name, pair]) => [name, pair.seed])) as Record<NatsService, string>;
  const publicKeys = Object.fromEntries(pairs.map(([name, pair]) => [name, pair.publicKey])) as typeof seeds;
  const variables = Object.fromEntries(
    pairs.map(([name, pair]) => [`NKEY_${name.toUpperCase().replaceAll("-", "_")}`, pair.publicKey]),
  );
  let port = -1;
  let child: ChildProcess | null = null;

  const launch = async (): Promise<void> => {
    const started = spawn(bin, ["-c", configFile], {
      stdio: ["ignore", "ignore", "pipe"],
      env: {
        ...variables,
        NATS_SERVER_NAME: "test",
        NATS_LISTEN_HOST: "127.0.0.1",
        NATS_LISTEN_PORT: String(port),
        NATS_STORE_DIR: JSON.stringify(storeDir),
      },
    });
    port = await untilReady(started);
    child = started;
  };
  const start = async () => {
    // Another process's outgoing connection may hold the port for a moment.
    for (const until = Date.now() + startTimeoutMs; ; ) {
      try {
        return await launch();
      } catch (error) {
        if (!/address already in use/.test(String(error)) || Date.now() > until) throw error;
      }
    }
  };
  const end = async (signal: NodeJS.Signals) => {
    const running = child;
    child = null;
    if (!running || running.exitCode !== null || running.signalCode !== null) return;
    const exited = new Promise((resolve) => running.once("exit", resolve));
    running.kill(signal);
    await exited;
  };
  const onExit = () => child?.kill("SIGKILL");
  process.once("exit", onExit);

  await start();
  return {
    url: `nats://127.0.0.1:${port}`,
    seeds,
    publicKeys,
    storeDir,
    pid: () => {
      if (!child?.pid) throw new Error("the server is not running");
      return child.pid;
    },
    kill9: () => end("SIGKILL"),
    stop: () => end("SIGTERM"),
    start,
    async remove() {
      await end("SIGKILL");
      process.removeListener("exit", onExit);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Copies the configuration with the operators' users; returns its folder. */
function addOperators(folder: string): string {
  const copy = join(folder, "configuration");
  mkdirSync(copy);
  for (const file of ["nats-server.conf", "permissions.conf"]) {
    const text = readFileSync(join(configFolder, file), "utf8");
    const password = operatorPassword;
    const user = (stream: string) => `users = [{ user: "operator-${stream}", password: "${password}" }]`;
    const account = /^ {2}([A-Z]+) \{\n {4}jetstream: enabled$/gm;
    writeFileSync(
      join(copy, file),
      text.replace(account, (head, stream: string) => `${head}\n    ${user(stream)}`),
    );
  }
  return copy;
}

/**
 * Resolves with the client port at the server's own "Server is ready"; rejects with its last lines when it ends before.
 */
function untilReady(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    let text = "";
    const timer = setTimeout(() => {
      child.kill("SIGKILL");
      reject(new Error(`nats-server was not ready in time: ${text.slice(-2_000)}`));
    }, startTimeoutMs);
    child.stderr?.on("data", (chunk: Buffer) => {
      text = (text + chunk.toString()).slice(-20_000);
      const port = /Listening for client connections on \S+:(\d+)/.exec(text)?.[1];
      if (port && text.includes("Server is ready")) {
        clearTimeout(timer);
        resolve(Number(port));
      }
    });
    child.once("error", (error) => {
      clearTimeout(timer);
      reject(error);
    });
    child.once("exit", () => {
      clearTimeout(timer);
      reject(new Error(`nats-server ended: ${text.slice(-2_000)}`));
    });
  });
}
