import { backoffMs, codeOf, type Logger, sleep } from "@muster/kit";
import pg from "pg";
import { endpointOf, isTlsFailure } from "./endpoint.ts";
import { isConnectionFailure } from "./failures.ts";
import { StartRefused } from "./start-refused.ts";

const connectTimeoutMs = 5_000;

/**
 * One connection outside the pool, for the time of the start. Waits until the database answers, for `waitMs` (default:
 * for ever), saying so in the log. Throws StartRefused when it answers with a refusal: no such role, password,
 * database, and when its TLS is not what the URL requires.
 */
export async function connectWhenUp(options: { url: string; log: Logger; waitMs?: number }): Promise<pg.Client> {
  const { url, log, waitMs = Number.POSITIVE_INFINITY } = options;
  const startedMs = performance.now();
  const endpoint = endpointOf(url, log);
  for (let attempt = 0; ; attempt++) {
    const client = new pg.Client({ ...endpoint, connectionTimeoutMillis: connectTimeoutMs });
    client.on("error", (err) => log.warn({ err }, "database connection lost"));
    try {
      await client.connect();
      return client;
    } catch (error) {
      await client.end().catch((err: unknown) => log.debug({ err }, "closing a failed connection"));
      const refused = refusal(error, client);
      if (refused) throw refused;
      if (!isConnectionFailure(error)) throw error;
      if (performance.now() - startedMs >= waitMs) {
        throw new StartRefused(`the database ${client.host}:${client.port} did not answer`, { cause: error });
      }
      log.warn({ err: error, attempt }, "waiting for the database");
      await sleep(backoffMs(attempt, 200, 5_000));
    }
  }
}

function refusal(error: unknown, { user, database, host, port }: pg.Client): StartRefused | undefined {
  const said = error instanceof Error ? error.message : String(error);
  if (isTlsFailure(error)) {
    return new StartRefused(
      `no TLS with the database ${host}:${port} as its URL requires (sslmode, sslrootcert): ${said}`,
      {
        cause: error,
      },
    );
  }
  switch (codeOf(error)) {
    case "28000":
      return new StartRefused(`the database ${host}:${port} refuses role "${user}": ${said}`, { cause: error });
    case "28P01":
      return new StartRefused(
        `role "${user}" cannot log in to database "${database}": run deploy/sql/roles.sql there, and give its password in the URL or in PGPASSWORD`,
        { cause: error },
      );
    case "3D000":
      return new StartRefused(`database "${database}" does not exist: create it and run deploy/sql/roles.sql in it`, {
        cause: error,
      });
    case "42501":
      return new StartRefused(
        `role "${user}" may not connect to database "${database}": run deploy/sql/roles.sql in it`,
        {
          cause: error,
        },
      );
    default:
      return undefined;
  }
}
