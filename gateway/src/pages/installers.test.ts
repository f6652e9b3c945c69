import { execFileSync } from "node:child_process";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, describe, expect, it } from "@jest/globals";
import { createInstallers } from "./installers.ts";

const servers: Server[] = [];
afterAll(async () => {
  for (const server of servers) await new Promise((resolve) => server.close(resolve));
});

async function serving(publicUrl = "https://muster.example/") {
  const pages = createInstallers({ publicUrl });
  const server = createServer((request, response) => {
    const path = (request.url ?? "").split("?")[0] ?? "";
    if (pages.serves(request.method ?? "", path)) pages.handler(request, response);
    else response.writeHead(599).end();
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return (path: string, init: RequestInit = {}) => fetch(`${base}${path}`, init);
}

describe("the installers", () => {
  it("are texts with the address of the deployment, of GET and HEAD, with an entity tag", async () => {
    const get = await serving();
    const reply = await get("/install.sh");
    const text = await reply.text();
    expect([reply.status, reply.headers.get("content-type")]).toEqual([200, "text/plain; charset=utf-8"]);
    expect(text).toContain("url='https://muster.example'");
    expect(text).toContain("ExecStart=/opt/muster-agent/watchdog/muster-agent supervise");
    expect(text).not.toMatch(/@[A-Z_]+@/);
    const etag = String(reply.headers.get("etag"));
    expect((await get("/install.sh", { headers: { "if-none-match": etag } })).status).toBe(304);
    expect((await get("/install.sh?x=1", { method: "HEAD" })).headers.get("content-length")).toBe(
      String(Buffer.byteLength(text)),
    );
    expect((await get("/install.sh", { method: "POST" })).status).toBe(599);
    expect(await (await get("/install.ps1")).text()).toContain("$url = 'https://muster.example'");
  });

  it("are a valid script of the shell, whatever the address has", async () => {
    const get = await serving("https://muster.example/it's;$(reboot)/");
    const text = await (await get("/install.sh")).text();
    expect(text).toContain("url='https://muster.example/it%27s;$(reboot)'");
    execFileSync("sh", ["-n"], { input: text });
  });
});
