import type { Database, Query, Statement, Tx } from "@muster/db";

type Node = {
  "Node Type": string;
  "Relation Name"?: string;
  "Actual Rows"?: number;
  "Actual Loops"?: number;
  "Rows Removed by Filter"?: number;
  Plans?: Node[];
};
const nodesOf = (node: Node): Node[] => [node, ...(node.Plans ?? []).flatMap(nodesOf)];

/**
 * How the planner reads a table: "Seq Scan", "Index Scan" …; of a partition by its own name. `rows` are those that were
 * looked at, also where a filter took them away.
 */
export type Scan = { table: string; by: string; rows: number };

const rowsOf = (node: Node) =>
  ((node["Actual Rows"] ?? 0) + (node["Rows Removed by Filter"] ?? 0)) * (node["Actual Loops"] ?? 0);

function queryOf(statement: Statement): Query {
  if ("text" in statement) return statement;
  const { sql: text, bindings: values } = statement.toSQL().toNative();
  return { text, values };
}

const reads = /^\s*(WITH|SELECT)/i;
/** Settings, and statements that write behind a WITH: running those once more would not be the same. */
const changes = /set_config|\b(INSERT INTO|DELETE FROM|UPDATE [\w ]+ SET)\b/i;

/** The database, with the scans of each statement that only reads: it runs once more before, to be explained. */
export function explained(db: Database): { db: Database; scans: Scan[] } {
  const scans: Scan[] = [];
  const queried = async <R>(tx: Tx, statement: Statement): Promise<R[]> => {
    const { text, values } = queryOf(statement);
    if (reads.test(text) && !changes.test(text)) {
      const explain = { text: `EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) ${text}`, values };
      const [row] = await tx.query<{ "QUERY PLAN": { Plan: Node }[] }>(explain);
      for (const node of (row?.["QUERY PLAN"] ?? []).flatMap(({ Plan }) => nodesOf(Plan))) {
        const { "Relation Name": table, "Node Type": by } = node;
        if (table) scans.push({ table, by, rows: rowsOf(node) });
      }
    }
    return tx.query<R>(statement);
  };
  // Not in one batch: a statement is sent when its plan is known. The transaction waits for those that `fn` does not.
  const explaining: Database["tx"] = (who, fn, options) =>
    db.tx(
      who,
      async (tx) => {
        const sent: Promise<unknown>[] = [];
        const query = <R>(statement: Statement) => {
          const rows = queried<R>(tx, statement);
          sent.push(rows);
          return rows;
        };
        const result = await fn({ ...tx, query });
        await Promise.allSettled(sent);
        return result;
      },
      options,
    );
  const own: Database = {
    ...db,
    tx: explaining,
    inOneBatch: explaining,
    read: (who, statement) => explaining(who, (tx) => tx.query(statement), { readOnly: true }),
  };
  return { db: own, scans };
}
