import { leastShare, measureInTurns, type Server, startBaseline, startGateway, stopServers } from "./http.ts";
import { startBenchIdentity } from "./http-identity.ts";
import type { Report } from "./report.ts";

/** More than the cold rounds can use up: each is used once. */
const coldKeys = 150_000;

/**
 * `npm run bench -- auth`: GET /auth/me, which the gateway answers by itself, with a remembered API key, with a
 * session, and with a key that it has never seen (one request to identity for the digest, one for the hourly limit),
 * compared with raw node:http.
 */
export async function run(_args: string[], report: Report): Promise<void> {
  const identity = await startBenchIdentity();
  const servers: Server[] = [];
  try {
    const gateway = await startGateway(identity);
    const keyLine = () => `X-API-Key: ${identity.newKey()}`;
    const warm = keyLine();
    const body = await gateway.bodyFor(warm);
    servers.push(await startBaseline("node:http", body, warm));
    servers.push(await gateway.serve("gateway, API key", [warm], leastShare));
    servers.push(
      await gateway.serve("gateway, session", [`Authorization: Bearer ${identity.accessToken}`], leastShare),
    );
    servers.push(await gateway.serve("gateway, cold API key", Array.from({ length: coldKeys }, keyLine)));
    await measureInTurns(servers, body.length, report);
  } finally {
    stopServers(servers);
    await identity.close();
  }
}
