// A thread that listens on ports of loopback, and connects each client to a service: workerData is a list of
// `{ address, target, published }`.
import { connect, createServer } from "node:net";
import { workerData } from "node:worker_threads";

for (const { address, target, published } of workerData) {
  const server = createServer((client) => {
    const service = connect(target, address);
    client.pipe(service).pipe(client);
    client.on("error", () => service.destroy());
    service.on("error", () => client.destroy());
  });
  server.listen(Number(published), "127.0.0.1");
}
