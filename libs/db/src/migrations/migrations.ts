import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { StartRefused } from "../client/start-refused.ts";
import { sqlCode, sqlStatements } from "./sql-text.ts";

export type MigrationDir = { label: string; path: string };

export type Migration = {
  label: string;
  /** File name, `NNNN_words.sql`. */
  name: string;
  /** SHA-256, hex, of the bytes with LF line ends. */
  checksum: string;
  text: string;
  /** False for files whose first line is `-- muster:no-transaction`: they must be re-runnable. */
  transactional: boolean;
};

export type Recorded = { label: string; name: string; checksum: string };

/** Outbox, relay lease, jobs, dead letters and stored replies: in every service's schema, before its own migrations. */
export const commonMigrations: MigrationDir = {
  label: "db",
  path: fileURLToPath(new URL("../../migrations", import.meta.url)),
};

const fileName = /^\d{4}_[a-z0-9]+(_[a-z0-9]+)*\.sql$/;
/** What a schema was before the first release. */
const baseline = "0001_baseline.sql";
const ownTransaction = /^(begin|start\s+transaction|commit|rollback)\b/i;

/**
 * The common migrations and those of `dirs`, in the order in which they run. Throws StartRefused naming a file that
 * cannot be one.
 */
export async function readMigrations(dirs: readonly MigrationDir[]): Promise<Migration[]> {
  const migrations: Migration[] = [];
  for (const { label, path } of [commonMigrations, ...dirs]) {
    const names = (await readdir(path)).filter((name) => name.endsWith(".sql")).sort();
    for (const [index, name] of names.entries()) {
      if (!fileName.test(name)) throw new StartRefused(`migration ${label}/${name} is not named NNNN_words.sql`);
      if (names[index - 1]?.slice(0, 4) === name.slice(0, 4)) {
        throw new StartRefused(`migrations ${label}/${names[index - 1]} and ${name} have the same number`);
      }
      const text = (await readFile(join(path, name), "utf8")).replaceAll("\r\n", "\n");
      const transactional = text.split("\n", 1)[0]?.trim() !== "-- muster:no-transaction";
      if (transactional && sqlStatements(text).some((statement) => ownTransaction.test(sqlCode(statement)))) {
        throw new StartRefused(`migration ${label}/${name} begins or ends a transaction: it already runs in one`);
      }
      const checksum = createHash("sha256").update(text).digest("hex");
      migrations.push({ label, name, checksum, text, transactional });
    }
  }
  return migrations;
}

/**
 * The migrations still to run. Throws StartRefused naming a file that was edited after it ran, or that is older than
 * the newest one that ran under its label; recorded ones that this version does not have are accepted (moving back).
 */
export function pendingMigrations(migrations: readonly Migration[], recorded: readonly Recorded[]): Migration[] {
  const checksums = new Map(recorded.map((r) => [`${r.label}/${r.name}`, r.checksum]));
  return migrations.filter((migration) => {
    const file = `${migration.label}/${migration.name}`;
    const checksum = checksums.get(file);
    if (checksum === migration.checksum) return false;
    if (checksum !== undefined) {
      throw new StartRefused(`migration ${file} was changed after it had been applied: restore it, and add a new file`);
    }
    const newer = recorded.find((r) => r.label === migration.label && r.name.slice(0, 4) >= migration.name.slice(0, 4));
    if (newer && migration.name === baseline) {
      throw new StartRefused(
        `this schema was made by a version before the first release, and nothing leads from it to ${file}: start with an empty database (on one machine: move the data folder away, .muster unless MUSTER_DATA_DIR names another)`,
      );
    }
    if (newer) {
      throw new StartRefused(
        `migration ${file} is older than ${newer.label}/${newer.name}, which ran: give it a newer number`,
      );
    }
    return true;
  });
}
