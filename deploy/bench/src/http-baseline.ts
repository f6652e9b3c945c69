// Server side of a baseline row: argv = "node:http" or "express"; the body to serve comes as the first message.
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import express from "express";

const [kind = ""] = process.argv.slice(2);

/** The least that answers JSON with a known length. */
function rawHandler(body: string): RequestListener {
  const length = Buffer.byteLength(body);
  return (_request, response) => {
    response.writeHead(200, { "Content-Type": "application/json", "Content-Length": length });
    response.end(body);
  };
}

function expressHandler(body: string): RequestListener {
  const value: unknown = JSON.parse(body);
  const app = express();
  app.disable("x-powered-by");
  app.disable("etag");
  app.get("/api/v1/auth/me", (_request, response) => {
    response.json(value);
  });
  return app;
}

process.once("message", (body: string) => {
  const server = createServer(kind === "express" ? expressHandler(body) : rawHandler(body));
  // Other servers have their turn between two rounds.
  server.keepAliveTimeout = 120_000;
  server.listen(0, "127.0.0.1", () => process.send?.({ port: (server.address() as AddressInfo).port }));
  process.on("message", () => process.send?.({ cpu: process.cpuUsage(), rss: process.memoryUsage.rss() }));
});
process.on("disconnect", () => process.exit());
