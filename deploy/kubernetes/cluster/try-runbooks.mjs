import { cpSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { ask, bash, call, dir, keys, kubectl, must, root, say, until, workloads } from "./client.mjs";
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

/** Ends the program whose id is in `pidFile` and waits until it has ended. */
export async function end(pidFile) {
  const pid = Number(readFileSync(pidFile, "utf8").split("\n")[0]);
  process.kill(pid, "SIGINT");
  await until(`process ${pid} gone`, () => bash(`! kill -0 ${pid} 2>/dev/null && echo gone`));
}
export const begin = (script, port) =>
  bash(`setsid ${join(root, "deploy/kubernetes/cluster", script)} ${dir} >>${dir}/log/restored.log 2>&1 </dev/null &
    for i in $(seq 100); do (exec 3<>/dev/tcp/10.199.0.1/${port}) 2>/dev/null && exit 0; sleep 0.2; done; exit 1`);

/** The block of a runbook that starts with `begins`, with names of this cluster instead of the reader's. */
function block(page, begins) {
  const text = readFileSync(join(root, "docs/operations", page), "utf8");
  const found = text.split("```sh\n").find((part) => part.startsWith(begins));
  must(found, `${page} has a block that begins with ${begins}`);
  return found
    .slice(0, found.indexOf("```"))
    .replaceAll("./keys", join(dir, "keys"))
    .replaceAll("muster-VERSION.tgz", join(root, "charts/muster"))
    .replaceAll("values.yaml", join(root, "charts/muster/ci/cluster-values.yaml"));
}
const type = (commands) =>
  bash(`cd ${root}; kubectl() { kubebox kubectl "$@"; }; muster() { node deploy/cli/muster.mjs "$@"; }\n${commands}`);

/** docs/operations/disasters.md: its first commands work. */
export async function looks() {
  const [objects, ready, errors] = block("disasters.md", "kubectl -n muster get pods,events").trim().split("\n");
  must((await type(objects)).includes("pod/muster-gateway"), "pods and events are listed");
  must(/postgresql/.test(await type(ready)), "a pod says what it is ready with");
  // grep ends with 1 where there is nothing to show.
  const found = await type(`${errors} || [ $? = 1 ]`);
  const kinds = new Set([...found.matchAll(/"msg":"([^"]*)"/g)].map(([, message]) => message));
  say(`the first checks of a disaster: errors in the logs of five minutes: ${[...kinds].join("; ") || "none"}`);
}

/** docs/operations/rotate-keys.md, command by command: identity's secrets are re-encrypted under another key. */
export async function rotate(session) {
  const before = keys().secretEncryptionKeys.identity;
  const typed = await type(block("rotate-keys.md", "change()"));
  must(/"resealed":[1-9]/.test(typed), `secrets are sealed anew: ${typed}`);
  const after = keys().secretEncryptionKeys.identity;
  must(!after.includes(before) && !after.includes(","), "the old key is gone");
  const secret = await kubectl("get", "secret", "muster-identity", "-o", "jsonpath={.data.SECRET_ENCRYPTION_KEY}");
  must(Buffer.from(secret, "base64").toString() === after, "the Secret has the new key alone");
  session.token = await until("signed in with a second factor that was sealed anew", () => signIn(), 90_000);
  say("the rotation runbook: identity's secrets are sealed anew, the old key is removed, people sign in");
}

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

  const typed = block("restore.md", "# 1. Stop")
    .replaceAll("POSTGRES", "10.199.0.1")
    .replaceAll("ADMIN", "postgres")
    .replaceAll("$T", time);
  const numbered = typed.split(/^# \d+\. .*\n/m).slice(1);
  const [stop, passwords, sessions, declare, others] = numbered;
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
  const requested = await ask("POST", "/audit-logs/verify", { orgId: session.org.id }, session.token);
  const report = await until("verified", async () => {
    const found = await ask("GET", `/audit-logs/verify/${requested.id}`, undefined, session.token);
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
