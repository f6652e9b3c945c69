// Entrypoint of the trial's PostgreSQL image, with what the chart's demo relies on in the one that it names: PGDATA,
// POSTGRES_DB, POSTGRES_PASSWORD, scripts in /docker-entrypoint-initdb.d at the first start, arguments for the server.
import { execFileSync, spawn } from "node:child_process";
import { appendFileSync, existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const { PGDATA: data, POSTGRES_DB: database, POSTGRES_PASSWORD: password } = process.env;
const sockets = "/var/run/postgresql";
const scripts = "/docker-entrypoint-initdb.d";
const run = (program, ...args) => execFileSync(program, args, { stdio: ["ignore", "inherit", "inherit"] });

if (!existsSync(join(data, "PG_VERSION"))) {
  writeFileSync("/tmp/password", password, { mode: 0o600 });
  const rights = ["-U", "postgres", "--pwfile=/tmp/password", "--auth-local=trust"];
  run("initdb", "-D", data, ...rights, "-E", "UTF8", "--locale=C");
  appendFileSync(join(data, "pg_hba.conf"), "host all all all scram-sha-256\n");
  // On its socket alone, until every script has run.
  run("pg_ctl", "-D", data, "-w", "-o", `-c listen_addresses='' -k ${sockets}`, "start");
  const psql = (...args) => run("psql", "-h", sockets, "-U", "postgres", "-v", "ON_ERROR_STOP=1", ...args);
  psql("-c", `create database "${database}"`);
  for (const name of readdirSync(scripts).filter((each) => each.endsWith(".sql"))) {
    psql("-d", database, "-f", join(scripts, name));
  }
  run("pg_ctl", "-D", data, "-m", "fast", "-w", "stop");
}
const server = spawn("postgres", ["-D", data, "-k", sockets, "-c", "listen_addresses=*", ...process.argv.slice(2)], {
  stdio: "inherit",
});
for (const signal of ["SIGTERM", "SIGINT"]) process.on(signal, () => server.kill("SIGINT"));
server.once("exit", (code) => process.exit(code ?? 1));
