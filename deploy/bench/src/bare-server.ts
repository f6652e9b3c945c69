import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

const connections = 32;

export type Round = { requests: number; seconds: number; p50: number; p95: number; p99: number };

export type Client = { round(ms: number): Promise<Round>; stop(): void };

/** A process that asks a path on as many connections as fast as they go. */
export async function startClient(port: string, token: string, path: string): Promise<Client> {
  const program = fileURLToPath(new URL("./http-client.js", import.meta.url));
  const child = fork(program, [port, token, String(connections), path]);
  await once(child, "message");
  return {
    async round(ms) {
      const answered = once(child, "message");
      child.send({ ms });
      return (await answered)[0] as Round;
    },
    stop: () => void child.kill(),
  };
}

/**
 * A bare node:http server with a client: what this machine achieves in the same run. `stop` resolves with the CPU that
 * the server used in its rounds, microseconds.
 */
export async function startBare(body: string, token: string, path: string) {
  const server = fork(fileURLToPath(new URL("./http-baseline.js", import.meta.url)), ["node:http"]);
  const ask = async (message: string) => {
    const answered = once(server, "message");
    server.send(message);
    return (await answered)[0] as { port: number; cpu: { user: number; system: number } };
  };
  const { port } = await ask(body);
  const client = await startClient(String(port), token, path);
  let cpuUs = 0;
  let warm = false;
  return {
    async round(ms: number): Promise<Round> {
      const before = (await ask("usage")).cpu;
      const made = await client.round(ms);
      const after = (await ask("usage")).cpu;
      // The first round is not counted.
      if (warm) cpuUs += after.user + after.system - before.user - before.system;
      warm = true;
      return made;
    },
    stop(): number {
      client.stop();
      server.kill();
      return cpuUs;
    },
  };
}

/** What this machine achieves with replies of 400 bytes, as fast as they go, after a round that is not counted. */
export async function bareRound(): Promise<{ perSecond: number; cpuUs: number }> {
  const server = await startBare("x".repeat(400), "none", "/");
  await server.round(2_000);
  const { requests, seconds } = await server.round(3_000);
  return { perSecond: requests / seconds, cpuUs: server.stop() / requests };
}
