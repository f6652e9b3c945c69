import { describe, expect, it } from "@jest/globals";
import { type Database, sql, type Tx } from "@muster/db";
import { AppError, type AttentionKind, type CallContext } from "@muster/kit";
import { AttentionService } from "@muster/proto/muster/common/v1/attention_pb";
import { register } from "@muster/rpc";
import { callers, testPort } from "@muster/testing";
import { type AttentionRow, type AttentionSource, attentionService } from "./attention.ts";

const admin = callers.platformAdmin({ permissions: ["devices:read"] });
const rowsOf = (kind: AttentionKind, count: number): AttentionRow[] =>
  Array.from({ length: count }, (_, n) => ({
    ...{ kind, record: { type: kind, id: `${n}`, name: "N" }, orgId: null, partnerId: null },
    ...{ since: new Date(0), sentence: "S." },
  }));

/** A source that reads once; a database that notes what the statements of its batches are. */
const source = (rows: AttentionRow[], guard: (context: CallContext) => void = () => {}): AttentionSource => ({
  guard,
  async find(tx) {
    await tx.query(sql`SELECT 1`);
    return rows;
  },
});
function noting() {
  const batches: number[] = [];
  const inOneBatch = async <T>(_who: unknown, fn: (tx: Tx) => Promise<T>): Promise<T> => {
    let isSent = false;
    const at = batches.push(0) - 1;
    const query = async () => {
      if (isSent) throw new Error("a statement was issued after the batch");
      batches[at] = (batches[at] ?? 0) + 1;
      return [];
    };
    const running = fn({ query } as unknown as Tx);
    isSent = true;
    return await running;
  };
  return { batches, db: { inOneBatch } as unknown as Database };
}
async function list(db: Database, sources: AttentionSource[]) {
  const port = await testPort("tenancy", [register(AttentionService, attentionService(db, sources))]);
  try {
    return await port.client(AttentionService, admin).listAttention({});
  } finally {
    await port.close();
  }
}

describe("what needs attention in a service", () => {
  it("is read by one batch, from all sources that admit the caller", async () => {
    const { db, batches } = noting();
    const refuse = () => {
      throw new AppError("permission_denied", "No");
    };
    const sources = [source(rowsOf("api_key", 1)), source(rowsOf("device", 1), refuse), source(rowsOf("directory", 2))];
    const { items } = await list(db, sources);
    expect(items.map(({ kind }) => kind).sort()).toEqual(["api_key", "directory", "directory"]);
    expect(batches).toEqual([2]);
    expect(await list(db, [source(rowsOf("device", 1), refuse)])).toMatchObject({ items: [], cutKinds: [] });
    expect(batches).toEqual([2]);
  });

  it("is at most 100 records of each kind, also where one source finds several", async () => {
    const both = source([...rowsOf("sso_provider", 101), ...rowsOf("certificate", 100)]);
    const { items, cutKinds } = await list(noting().db, [both]);
    expect(items.filter(({ kind }) => kind === "sso_provider")).toHaveLength(100);
    expect(items.filter(({ kind }) => kind === "certificate")).toHaveLength(100);
    expect(cutKinds).toEqual(["sso_provider"]);
  });
});
