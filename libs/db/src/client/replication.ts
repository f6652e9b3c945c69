import { systemCaller } from "@muster/kit";
import type { Database } from "./database.ts";
import { sql } from "./statement.ts";

/** What an acknowledged transaction is worth when this server is lost. */
export type Replication = {
  /** Whether it is on another server, too. */
  isSynchronous: boolean;
  /** The finding as text, for `/readyz?verbose`. */
  found: string;
};

/** The primary's `synchronous_commit` and `synchronous_standby_names`, evaluated; throws as `read` does. */
export async function replicationOf(db: Database): Promise<Replication> {
  const [row] = await db.read<{ commit: string; standbys: string }>(
    { caller: systemCaller(db.name) },
    sql`
      select current_setting('synchronous_commit') as commit, current_setting('synchronous_standby_names') as standbys`,
  );
  const { commit, standbys } = row ?? { commit: "", standbys: "" };
  if (standbys === "") {
    return { isSynchronous: false, found: "no synchronous standby (synchronous_standby_names is empty)" };
  }
  const isSynchronous = commit === "on" || commit === "remote_apply";
  if (!isSynchronous) return { isSynchronous, found: `synchronous_commit is ${commit}: no standby is waited for` };
  return { isSynchronous, found: `synchronous standby: ${standbys}` };
}
