import pg from "pg";

/** Of every role of a test. */
export const password = "test";

/** Runs `use` under a lock on the roles, which belong to the cluster and permit one transaction at a time. */
export function withRolesLock<T>(use: (admin: pg.Client) => Promise<T>): Promise<T> {
  // Advisory locks are per database: everybody takes this one in the database that the URL names.
  return withClient(clusterUrl(), async (admin) => {
    await admin.query("select pg_advisory_lock(hashtextextended('muster test roles', 0))");
    return use(admin);
  });
}

/** A superuser's URL of the cluster of this run. Throws when there is none. */
export function clusterUrl(): string {
  const url = process.env.MUSTER_TEST_PG_URL;
  if (!url) throw new Error("MUSTER_TEST_PG_URL is not set: run tests through `npm test` or `npm run jest`");
  return url;
}

/** A superuser's URL of a database, or another role's. */
export function databaseUrl(cluster: string, database: string, user?: string): string {
  const url = new URL(cluster);
  url.pathname = `/${database}`;
  if (user) {
    url.username = user;
    url.password = password;
  }
  return url.href;
}

/** A connection for as long as `use` runs. */
export async function withClient<T>(url: string, use: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await use(client);
  } finally {
    await client.end();
  }
}
