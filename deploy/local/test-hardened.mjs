// `npm run test:hardened [files]`: end-to-end suites on clusters whose processes speak TLS to PostgreSQL, to NATS and
// to one another, and reach PostgreSQL through a PgBouncer in transaction mode. Without a PgBouncer that can be had
// it says so, which fails under CI=true.
import "./check-node.mjs";

const { join } = await import("node:path");
const { prepare, root } = await import("./prepare.mjs");
const { runJest } = await import("./jest/run.mjs");
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

const files = process.argv.slice(2);
const env = { ...process.env, MUSTER_TLS: "true", MUSTER_PGBOUNCER: "true", PGBOUNCER_BIN: binary };
process.exit(await runJest(files.length > 0 ? files : ["gateway/e2e"], env));
