import { createServer, type Server } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { afterEach, expect, it } from "@jest/globals";
import { until } from "@muster/testing";
import { WebSocketServer } from "ws";
import { type Channel, openChannel } from "./channel.ts";

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

async function listening(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closing.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/** A proxy that tunnels by CONNECT alone, or refuses, or says nothing (0); notes what it was asked. */
async function startProxy(status = 200): Promise<{ port: number; targets: string[]; credentials: string[] }> {
  const [targets, credentials]: [string[], string[]] = [[], []];
  const server = createServer((_request, response) => response.writeHead(405).end());
  server.on("connect", (request, socket) => {
    targets.push(request.url ?? "");
    credentials.push(request.headers["proxy-authorization"] ?? "");
    closing.push(() => socket.destroy());
    if (status === 0) return;
    if (status !== 200) return void socket.end(`HTTP/1.1 ${status} No\r\n\r\n`);
    const [host = "", port = ""] = (request.url ?? "").split(":");
    const tunnel = connect(Number(port), host, () => {
      socket.write("HTTP/1.1 200 OK\r\n\r\n");
      tunnel.pipe(socket).pipe(tunnel);
    });
    closing.push(() => tunnel.destroy());
  });
  return { port: await listening(server), targets, credentials };
}

async function startGateway(): Promise<{ url: string; tokens: string[] }> {
  const server = createServer();
  const tokens: string[] = [];
  const sockets = new WebSocketServer({ server });
  sockets.on("connection", (_socket, request) => void tokens.push(request.headers.authorization ?? ""));
  return { url: `http://127.0.0.1:${await listening(server)}`, tokens };
}

function open(url: string, proxy: string | null): Channel {
  const channel = openChannel({
    baseUrl: () => url,
    agentId: "a1",
    token: () => "agt_x",
    answer: async () => null,
    proxyOf: () => proxy,
    retryMs: 20,
    openMs: 500,
  });
  closing.push(() => channel.stop());
  return channel;
}

it("goes through a tunnel of the proxy, with the proxy's credential, which the platform does not see", async () => {
  const [proxy, gateway] = [await startProxy(), await startGateway()];
  const channel = open(gateway.url, `http://user:secret@127.0.0.1:${proxy.port}`);
  await until("a connection", () => channel.connected);
  expect(proxy.targets).toEqual([new URL(gateway.url).host]);
  expect(proxy.credentials).toEqual([`Basic ${Buffer.from("user:secret").toString("base64")}`]);
  expect(gateway.tokens).toEqual(["Bearer agt_x"]);
});

it.each([
  ["refuses", 403],
  ["says nothing", 0],
])("tries again when the proxy %s, and never goes around it", async (_name, status) => {
  const [proxy, gateway] = [await startProxy(status), await startGateway()];
  open(gateway.url, `http://127.0.0.1:${proxy.port}`);
  await until("three tries", () => proxy.targets.length >= 3);
  expect(gateway.tokens).toEqual([]);
});
