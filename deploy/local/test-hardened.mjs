// `npm run test:hardened [files]`: end-to-end suites on clusters whose processes speak TLS to PostgreSQL, to NATS and
// to one another, and reach PostgreSQL through a PgBouncer in transaction mode. Without a PgBouncer that can be had
// it says so, which fails under CI=true.
import "./check-node.mjs";

const { spawn } = await import("node:child_process");
const { join } = await import("node:path");
const { jestFlags } = await import("./jest/flags.mjs");
const { prepare, root } = await import("./prepare.mjs");
prepare({ client: true });

const { pgbouncer } = await import("./dist/pgbouncer-binary.js");
let binary;
try {
  binary = pgbouncer(
    process.env.PGBOUNCER_BIN,
    process.getuid?.() === 0 ? "/var/lib/muster" : join(root, ".muster", "bin"),
    (line) => console.log(line),
  );
} catch (error) {
  console.log(`not run: hardened suites. ${error.message}`);
  process.exit(process.env.CI === "true" ? 1 : 0);
}

const given = process.argv.slice(2);
const jest = join(root, "node_modules", "jest", "bin", "jest.js");
const suites = given.length > 0 ? given : ["gateway/e2e"];
const child = spawn(process.execPath, [...jestFlags, jest, ...suites], {
  cwd: root,
  stdio: "inherit",
  env: { ...process.env, MUSTER_TLS: "true", MUSTER_PGBOUNCER: "true", PGBOUNCER_BIN: binary },
});
// jest stops its database on these; this process must outlive it to pass its status on.
for (const name of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(name, () => child.kill(name));
child.once("exit", (code, signal) => process.exit(code ?? (signal === "SIGINT" ? 130 : 1)));
