import { createServer, type Server } from "node:net";
import { afterEach, describe, expect, it } from "@jest/globals";
import { freePort, portState, stablePorts } from "./ports.ts";

const servers: Server[] = [];

async function occupy(port: number): Promise<void> {
  const server = createServer();
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
}

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => new Promise((resolve) => server.close(resolve))));
});

describe("ports", () => {
  it("tells a free port from a taken one", async () => {
    const port = await freePort();
    expect(await portState(port)).toBe("free");
    await occupy(port);
    expect(await portState(port)).toBe("EADDRINUSE");
  });

  it("keeps the remembered ports that are still free and replaces the others", async () => {
    const [kept, taken] = [await freePort(), await freePort()];
    await occupy(taken);
    const ports = await stablePorts(["a", "b", "c"], { a: kept, b: taken });
    expect(ports.a).toBe(kept);
    expect(ports.b).not.toBe(taken);
    expect(new Set(Object.values(ports)).size).toBe(3);
  });

  it("never gives a port twice nor one that the gateways need", async () => {
    const wanted = await freePort();
    const ports = await stablePorts(["a", "b"], { a: wanted, b: wanted }, [wanted]);
    expect(Object.values(ports)).not.toContain(wanted);
    expect(ports.a).not.toBe(ports.b);
  });

  it("stays below the range of outgoing connections", async () => {
    expect(await freePort()).toBeLessThan(32_000);
  });
});
