import { type ChildProcess, spawn } from "node:child_process";
import { createServer, type Server } from "node:net";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, it } from "@jest/globals";
import { until } from "@muster/testing";
import { claimPort, freePort, portState, stablePorts } from "./ports.ts";
import { gone } from "./process-table.ts";

const built = fileURLToPath(new URL("../dist/ports.js", import.meta.url));
const allocators: ChildProcess[] = [];

/** Another process that takes `count` ports and keeps running. */
async function allocator(count: number): Promise<{ pid: number; ports: number[] }> {
  const code = `
    const { stablePorts } = await import(process.argv[1]);
    const ports = await stablePorts(Array.from({ length: ${count} }, (_, n) => String(n)), {});
    console.log(JSON.stringify(Object.values(ports)));
    setInterval(() => {}, 1_000);`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", code, built], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  allocators.push(child);
  for await (const line of createInterface({ input: child.stdout as NodeJS.ReadableStream })) {
    return { pid: child.pid as number, ports: JSON.parse(line) as number[] };
  }
  throw new Error("the allocator ended without an answer");
}

const servers: Server[] = [];

async function occupy(port: number): Promise<void> {
  const server = createServer();
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
}

afterEach(async () => {
  for (const child of allocators.splice(0)) child.kill("SIGKILL");
  await Promise.all(servers.splice(0).map((server) => new Promise((resolve) => server.close(resolve))));
});

describe("ports", () => {
  it("distinguishes a free port from a taken one", async () => {
    const port = await freePort();
    expect(await portState(port)).toBe("free");
    await occupy(port);
    expect(await portState(port)).toBe("EADDRINUSE");
  });

  it("keeps the saved ports that are still free and replaces the others", async () => {
    const [kept, taken] = [await freePort(), await freePort()];
    await occupy(taken);
    const ports = await stablePorts(["a", "b", "c"], { a: kept, b: taken });
    expect(ports.a).toBe(kept);
    expect(ports.b).not.toBe(taken);
    expect(new Set(Object.values(ports)).size).toBe(3);
  });

  it("never returns a port twice nor one that the gateways need", async () => {
    const wanted = await freePort();
    const ports = await stablePorts(["a", "b"], { a: wanted, b: wanted }, [wanted]);
    expect(Object.values(ports)).not.toContain(wanted);
    expect(ports.a).not.toBe(ports.b);
  });

  it("stays below the range of outgoing connections", async () => {
    expect(await freePort()).toBeLessThan(32_000);
  });

  it("are never given to two processes that start at once, before either listens", async () => {
    const taken = await Promise.all(Array.from({ length: 10 }, () => allocator(100)));
    const ports = taken.flatMap((each) => each.ports);
    expect(ports).toHaveLength(1_000);
    expect(new Set(ports).size).toBe(1_000);
  });

  it("are free again as soon as the process that claimed them is killed", async () => {
    const { pid, ports } = await allocator(1);
    const [port = 0] = ports;
    expect(await claimPort(port)).toBe(false);
    expect(await stablePorts(["a"], { a: port })).not.toEqual({ a: port });
    process.kill(pid, "SIGKILL");
    expect(await gone(pid, 5_000)).toBe(true);
    await until("the claim to end", () => claimPort(port), 5_000);
    expect(await stablePorts(["a"], { a: port })).toEqual({ a: port });
  });

  it("come in a row where gateways need one after the other", async () => {
    const first = await freePort(new Set(), 4);
    for (let n = 0; n < 4; n++) {
      expect(await claimPort(first + n)).toBe(true);
      expect(await portState(first + n)).toBe("free");
    }
  });
});
