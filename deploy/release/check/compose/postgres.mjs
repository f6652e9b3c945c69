import { chmodSync, cpSync, mkdirSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { copyPostgres } from "../../../local/dist/postgres-binaries.js";

/** As the entrypoint of the official image is documented: a first start makes the database with the password. */
const entrypoint = `#!/usr/bin/node
const { spawn, spawnSync } = require("node:child_process");
const { appendFileSync, existsSync } = require("node:fs");
const data = "/var/lib/postgresql/18/docker";
const bin = "/opt/postgres/native/bin";
const must = ({ status, stderr }) => status === 0 || process.exit(console.error(String(stderr)) ?? 1);
const { POSTGRES_DB: name, POSTGRES_PASSWORD_FILE: file } = process.env;
if (!existsSync(data + "/PG_VERSION")) {
  must(spawnSync(bin + "/initdb", ["-D", data, "-U", "postgres", "--pwfile", file, "-A", "scram-sha-256", "-E", "UTF8", "--locale=C"]));
  appendFileSync(data + "/pg_hba.conf", "host all all all scram-sha-256\\n");
  must(spawnSync(bin + "/postgres", ["--single", "-D", data, "postgres"], { input: "create database " + name + "\\n" }));
}
const args = ["-D", data, "-c", "listen_addresses=*", "-k", "/tmp", ...process.argv.slice(3)];
const child = spawn(bin + "/postgres", args, { stdio: "inherit" });
process.on("SIGTERM", () => child.kill("SIGINT"));
child.on("exit", (code) => process.exit(code ?? 1));
`;

const isReady = `#!/usr/bin/node
require("node:net").connect(5432, "127.0.0.1").on("connect", () => process.exit(0)).on("error", () => process.exit(2));
`;

/**
 * Files of an image with PostgreSQL 18 over the release's base, in place of the official one: no registry of images is
 * needed for a check. It has its settings, volume, user and commands.
 */
export function makePostgres(base, root) {
  cpSync(base, root, { recursive: true, verbatimSymlinks: true });
  copyPostgres(join(root, "opt/postgres"));
  mkdirSync(join(root, "bin"), { recursive: true });
  // initdb starts its server by a shell.
  cpSync(realpathSync("/bin/sh"), join(root, "bin/sh"));
  mkdirSync(join(root, "var/lib/postgresql"), { recursive: true });
  writeFileSync(join(root, "etc/passwd"), "root:x:0:0::/:/bin/sh\npostgres:x:999:999::/tmp:/bin/sh\n");
  for (const [name, text] of [
    ["docker-entrypoint.sh", entrypoint],
    ["pg_isready", isReady],
  ]) {
    writeFileSync(join(root, "usr/bin", name), text);
    chmodSync(join(root, "usr/bin", name), 0o755);
  }
  const env = ["PATH=/usr/bin:/bin", "LD_LIBRARY_PATH=/opt/postgres/native/lib"];
  const volumeOwners = { "/var/lib/postgresql": "999:999" };
  return { root, Entrypoint: ["/usr/bin/docker-entrypoint.sh"], Env: env, User: "999:999", volumeOwners };
}
