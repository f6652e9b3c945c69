import { cpSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { ask, bash, call, dir, must, root, say, until, workloads } from "./client.mjs";
import { signIn } from "./try-smoke.mjs";

const { Client } = createRequire(join(root, "libs/db/package.json"))("pg");
const data = join(dir, "postgres/data");
const backup = join(dir, "postgres/backup");

/** A base backup of the running server, by its own API for such. */
async function baseBackup() {
  const admin = new Client("postgres://postgres@10.199.0.1:5432/muster");
  await admin.connect();
  await admin.query("select pg_backup_start('trial', true)");
  await bash(`cp -a ${data} ${backup} && rm -f ${backup}/postmaster.pid`);
  const { rows } = await admin.query("select labelfile from pg_backup_stop()");
  writeFileSync(join(backup, "backup_label"), rows[0].labelfile);
  await bash(`cp -a ${data}/pg_wal/. ${backup}/pg_wal/ && chown -R nobody ${backup}`);
  await admin.end();
}

/** Ends the program whose id is in `pidFile` and waits until it is gone. */
async function end(pidFile) {
  const pid = Number(readFileSync(pidFile, "utf8").split("\n")[0]);
  process.kill(pid, "SIGINT");
  await until(`process ${pid} gone`, () => bash(`! kill -0 ${pid} 2>/dev/null && echo gone`));
}
const begin = (script, port) =>
  bash(`setsid ${join(root, "deploy/kubernetes/cluster", script)} ${dir} >>${dir}/log/restored.log 2>&1 </dev/null &
    for i in $(seq 100); do (exec 3<>/dev/tcp/10.199.0.1/${port}) 2>/dev/null && exit 0; sleep 0.2; done; exit 1`);

/** The numbered steps of the runbook, as its reader types them with names of their own. */
function steps(time) {
  const text = readFileSync(join(root, "docs/operations/restore.md"), "utf8");
  const [, block] = /```sh\n(# 1\. Stop[\s\S]*?)```/.exec(text);
  return block
    .split(/^# \d+\. /m)
    .slice(1)
    .map((step) =>
      step
        .slice(step.indexOf("\n") + 1)
        .replaceAll("POSTGRES", "10.199.0.1")
        .replaceAll("ADMIN", "postgres")
        .replaceAll("$T", time)
        .replaceAll("./keys", join(dir, "keys"))
        .replaceAll("charts/muster", join(root, "charts/muster"))
        .replaceAll("values.yaml", join(root, "charts/muster/ci/cluster-values.yaml")),
    );
}
const type = (commands) => bash(`kubectl() { kubebox kubectl "$@"; }\n${commands}`);

/** docs/operations/restore.md, command by command: the database goes back to a backup, NATS begins empty. */
export async function restore(session) {
  const sites = async () => {
    const path = `/orgs/sites?orgId=${session.org.id}&limit=1`;
    return (await ask("GET", path, undefined, session.token)).pagination.total;
  };
  const site = (name) => ask("POST", "/orgs/sites", { orgId: session.org.id, name }, session.token);
  await site("Before the backup");
  const before = await sites();
  await baseBackup();
  const time = new Date(Date.now() - 60_000).toISOString();
  for (const n of [1, 2, 3]) await site(`After the backup ${n}`);

  const [stop, passwords, sessions, declare, others] = steps(time);
  await type(stop);
  await until("every pod gone", async () => (await type("kubectl -n muster get pods -o name")) === "", 120_000);
  await end(join(data, "postmaster.pid"));
  renameSync(data, join(dir, "postgres/lost"));
  cpSync(backup, data, { recursive: true, preserveTimestamps: true });
  await bash(`chown -R nobody ${data} && chmod 700 ${data}`);
  await begin("postgres.sh", 5432);
  await type(passwords);
  const ended = await type(sessions);
  must(/UPDATE [1-9]/.test(ended), `sessions that the backup brought back are ended: ${ended}`);
  await end(join(dir, "nats.pid"));
  rmSync(join(dir, "nats"), { recursive: true });
  await begin("nats.sh", 4222);
  const declared = await type(declare);
  must(declared.includes("restore declared"), `the restore is declared: ${declared}`);
  await type(others);
  const answer = await call("GET", "/auth/me", undefined, session.token);
  must(answer.status === 401, `a session of before the restore is refused (${answer.status})`);
  session.token = await until("signed in again", () => signIn(), 90_000);
  must((await sites()) === before, "what was made after the backup is gone, what was there before is there");
  await site("After the restore");
  await until("its audit row", async () => {
    const { data: rows } = await ask("GET", "/audit-logs/logs?action=site.create&limit=1", undefined, session.token);
    return JSON.stringify(rows).includes("After the restore");
  });
  const asked = await ask("POST", "/audit-logs/verify", { orgId: session.org.id }, session.token);
  const report = await until("verified", async () => {
    const found = await ask("GET", `/audit-logs/verify/${asked.id}`, undefined, session.token);
    return found.status === "done" && found;
  });
  const verdicts = report.verdicts.map(({ verdict }) => verdict);
  const fine = ["OK", "UNPROTECTED_TAIL", "RESTORED"];
  must(
    verdicts.every((each) => fine.includes(each)),
    `the chain verifies: ${verdicts}`,
  );
  say(`the restore runbook, step by step over ${workloads.length} workloads: verified ${verdicts.join(", ")}`);
}
