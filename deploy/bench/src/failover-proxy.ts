import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { createServer } from "node:http";
import { fileURLToPath } from "node:url";
import { freePort } from "@muster/local";
import { type Listening, listening, type MovingAddress } from "@muster/testing";

const config = fileURLToPath(new URL("../../ha/haproxy.cfg", import.meta.url));

const againMs = 100;

/** The haproxy of HAPROXY_BIN or the PATH; null where there is none. */
export function haproxy(): string | null {
  const program = process.env.HAPROXY_BIN ?? "haproxy";
  return spawnSync(program, ["-v"]).status === 0 ? program : null;
}

/**
 * deploy/ha/haproxy.cfg before two servers, each with an agent that says whether it is the primary. `cut` kills it and
 * starts it again.
 */
export async function proxyAddress(
  program: string,
  ports: readonly [number, number],
  isPrimary: (n: number) => boolean,
): Promise<MovingAddress> {
  const agents: Listening[] = [];
  for (const n of ports.keys()) {
    agents.push(await listening(createServer((_, reply) => reply.writeHead(isPrimary(n) ? 200 : 503).end())));
  }
  const port = await freePort();
  const env = {
    PATH: process.env.PATH,
    HA_LISTEN: `127.0.0.1:${port}`,
    HA_A: `127.0.0.1:${ports[0]}`,
    HA_A_AGENT: String(agents[0]?.port),
    HA_B: `127.0.0.1:${ports[1]}`,
    HA_B_AGENT: String(agents[1]?.port),
  };
  let wanted = true;
  let child: ChildProcess;
  const start = () => {
    if (!wanted) return;
    child = spawn(program, ["-db", "-q", "-f", config], { env, stdio: ["ignore", "inherit", "inherit"] });
    child.once("exit", () => void (wanted && setTimeout(start, againMs)));
  };
  start();
  return {
    port,
    disconnect: () => void child.kill("SIGKILL"),
    async close() {
      wanted = false;
      child.kill("SIGKILL");
      for (const agent of agents) await agent.close();
    },
  };
}
