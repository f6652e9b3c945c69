import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { renderMetrics } from "../telemetry/metrics.ts";
import type { Readiness } from "./readiness.ts";

/** Milliseconds for which `/readyz?wait` waits for the end of a start: less than the timeout of the chart's probe. */
const startWaitMs = 4_000;

export type OpsServer = { port: number; close(): Promise<void> };

/**
 * The ops port: `/metrics`, `/livez`, `/readyz`. Not for the public network. `/readyz?verbose` lists dependencies;
 * `/readyz?wait` answers a process that is still starting when it has started, so that a healthy start fails no probe.
 */
export async function startOps(options: { host: string; port: number; readiness: Readiness }): Promise<OpsServer> {
  const { readiness } = options;
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? "/", "http://ops");
    const send = (status: number, contentType: string, body: string) => {
      response.writeHead(status, { "content-type": contentType, "cache-control": "no-store" }).end(body);
    };
    const answer = async () => {
      if (url.pathname === "/metrics") {
        const { contentType, body } = await renderMetrics(request.headers.accept);
        send(200, contentType, body);
      } else if (url.pathname === "/livez") send(200, "text/plain", "ok\n");
      else if (url.pathname === "/readyz") {
        if (url.searchParams.has("wait")) await readiness.started(startWaitMs);
        const lines = url.searchParams.has("verbose")
          ? Object.entries(await readiness.verbose()).map(([name, state]) => `${name}: ${state}\n`)
          : [];
        send(readiness.ready ? 200 : 503, "text/plain", `${readiness.state}\n${lines.join("")}`);
      } else send(404, "text/plain", "not found\n");
    };
    answer().catch((error: unknown) => send(500, "text/plain", `${error instanceof Error ? error.message : error}\n`));
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(options.port, options.host, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
