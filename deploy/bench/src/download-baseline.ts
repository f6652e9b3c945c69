// Baseline of the download bench: the least of node:http that serves a file. argv = its path. Sends {port}.
import { createReadStream, statSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

const [file = ""] = process.argv.slice(2);
const length = statSync(file).size;

const server = createServer((_request, response) => {
  response.writeHead(200, { "Content-Type": "application/octet-stream", "Content-Length": length });
  createReadStream(file, { highWaterMark: 256 * 1024 }).pipe(response);
});
server.listen(0, "127.0.0.1", () => process.send?.({ port: (server.address() as AddressInfo).port }));
process.on("disconnect", () => process.exit());
