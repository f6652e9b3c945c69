import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";

/**
 * Tables that record what happened: they may hold no secret and no digest of one. The others hold digests by design.
 */
const telling = /^(audit\..*|.*\.(outbox|dead_letter|job))$/;
/** Messages to gateways name keys by their digest. */
const mayHoldDigests = /\.(outbox|dead_letter)$/;
const pageRows = 5_000;

/**
 * Searches the logs of every process of the shared e2e cluster, its audit rows, outboxes and dead letters for the
 * secrets that clients noted (gateway/e2e/support/handed-out.ts). Call it while the database runs. Returns a sentence
 * for each place; none when no cluster was started.
 */
export async function leaksOf(directory, { secretScanner }) {
  const noted = join(directory, "secrets");
  const stackFile = join(directory, "data", "stack.json");
  if (!existsSync(noted) || !existsSync(stackFile)) return [];
  const [whole, plain] = [secretScanner({ digests: true }), secretScanner({ digests: false })];
  for (const file of readdirSync(noted)) {
    for (const line of readFileSync(join(noted, file), "utf8").split("\n")) {
      if (line === "") continue;
      const { name, hex } = JSON.parse(line);
      const text = Buffer.from(hex, "hex").toString("utf8");
      const value = Buffer.from(text).toString("hex") === hex ? text : Buffer.from(hex, "hex");
      for (const scanner of [whole, plain]) scanner.add({ name, value });
    }
  }
  const leaks = new Set();
  const tell = (location, found) => {
    for (const { name, form } of found) leaks.add(`${location} holds the secret "${name}" (${form})`);
  };
  const { databaseUrl, services = {}, workers = {} } = JSON.parse(readFileSync(stackFile, "utf8"));
  const logs = logFiles(directory);
  for (const name of ["gateway", ...Object.keys({ ...services, ...workers })]) {
    if (!logs.some((file) => file.endsWith(`/${name}.log`))) leaks.add(`${name} has no log that could be searched`);
  }
  for (const file of logs) tell(file, whole.find(readFileSync(file)));
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    for (const table of await tables(client)) {
      const scanner = mayHoldDigests.test(table) ? plain : whole;
      for await (const rows of pages(client, table)) tell(table, scanner.find(rows));
    }
  } finally {
    await client.end();
  }
  return [...leaks];
}

function logFiles(directory) {
  const logs = join(directory, "data", "logs");
  const files = existsSync(logs) ? readdirSync(logs).map((name) => join(logs, name)) : [];
  return [join(directory, "supervisor.log"), ...files].filter((file) => existsSync(file) && statSync(file).isFile());
}

async function tables(client) {
  const { rows } = await client.query(`
    SELECT format('%s.%s', n.nspname, c.relname) AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind = 'r' AND n.nspname NOT IN ('pg_catalog', 'information_schema') ORDER BY 1`);
  return rows.map(({ name }) => name).filter((name) => telling.test(name));
}

/** A table's rows as text, page by page. */
async function* pages(client, table) {
  await client.query(`BEGIN; DECLARE leaks NO SCROLL CURSOR FOR SELECT t::text AS row FROM ${table} t`);
  for (;;) {
    const { rows } = await client.query(`FETCH ${pageRows} FROM leaks`);
    if (rows.length > 0) yield Buffer.from(rows.map(({ row }) => row).join("\n"));
    if (rows.length < pageRows) break;
  }
  await client.query("COMMIT");
}
