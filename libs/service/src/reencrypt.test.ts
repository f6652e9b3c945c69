import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { type Database, openDatabase, sql } from "@muster/db";
import { type TestDatabase, testDatabase } from "@muster/db/testing";
import { createLogger, secretBox, systemCaller, uuidv7 } from "@muster/kit";
import { sealedReplies } from "./idempotent.ts";
import { reencrypt } from "./reencrypt.ts";
import { type SealedColumn, sealedPage, swapEnvelopes } from "./sealed-column.ts";

const log = createLogger("reencrypt-test", "silent" as "fatal");
const system = { caller: systemCaller("identity") };
const newKey = (id: string) => `${id}:${randomBytes(32).toString("base64")}`;
const [older, newer] = [newKey("k1"), newKey("k2")];
const both = `${newer},${older}`;
const things: SealedColumn = {
  table: "things",
  key: [
    ["id", "uuid"],
    ["part", "text"],
  ],
  column: "secret",
  purpose: "test",
  location: (key) => `things/${key.join("/")}/secret`,
};
const columns = [things, sealedReplies];

let test: TestDatabase;
let owner: Database;
beforeAll(async () => {
  test = await testDatabase({ service: "identity", dirs: [] });
  owner = openDatabase({ url: test.ownerUrl, max: 3, name: "identity", log });
  await owner.tx(system, (tx) =>
    tx.execute(sql`CREATE TABLE things (id uuid, part text, secret bytea, PRIMARY KEY (id, part))`),
  );
});
afterAll(async () => {
  await owner?.close();
  await test?.drop();
});
beforeEach(async () => {
  for (const text of ["DELETE FROM things", "DELETE FROM idempotency", "DELETE FROM job"]) {
    await owner.tx(system, (tx) => tx.execute({ text, values: [] }));
  }
});

const put = (id: string, part: string, secret: Buffer | null) =>
  owner.tx(system, (tx) => tx.execute(sql`INSERT INTO things VALUES (${id}, ${part}, ${secret})`));
const seal = (keys: string, id: string, part: string) =>
  secretBox(keys, "test").seal(Buffer.from(`secret of ${part}`), things.location([id, part]));
const stored = () =>
  owner.read<{ id: string; part: string; secret: Buffer }>(system, sql`SELECT * FROM things ORDER BY 1, 2`);

/** Rows under the older key; returns their ids. */
async function fill(count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, () => uuidv7()).sort();
  for (const id of ids) await put(id, "a", seal(older, id, "a"));
  return ids;
}

async function expectAllUnder(keys: string): Promise<void> {
  for (const { id, part, secret } of await stored()) {
    const box = secretBox(keys, "test");
    expect(box.open(secret, things.location([id, part])).toString()).toBe(`secret of ${part}`);
    expect(box.isCurrent(secret)).toBe(true);
  }
}

describe("re-encryption", () => {
  it("leaves nothing that needs an older key, over several chunks and tables, and counts", async () => {
    const ids = await fill(7);
    await put(ids[3] ?? "", "b", seal(both, ids[3] ?? "", "b"));
    const reply = (caller: string, bytes: Buffer) =>
      owner.tx({ caller: { ...systemCaller(caller) } }, (tx) =>
        tx.execute(sql`INSERT INTO idempotency (caller, rpc, key, request_sha256, reply)
                       VALUES (${caller}, 'x.Y/Z', 'k', sha256('x'), ${bytes})`),
      );
    const clear = Buffer.from([0x0a, 1, 65]);
    const location = sealedReplies.location(["one", "x.Y/Z", "k"]);
    await reply("one", secretBox(older, "idempotency").seal(Buffer.from("reply"), location));
    await reply("two", clear);
    const result = await reencrypt({ db: owner, keys: both, columns, log, chunkRows: 3 });
    expect(result).toEqual({ keyId: "k2", seen: 10, resealed: 8, passes: 2 });
    await expectAllUnder(newer);
    const replies = await owner.read<{ reply: Buffer }>(system, sql`SELECT reply FROM idempotency ORDER BY caller`);
    expect(
      secretBox(newer, "idempotency")
        .open(replies[0]?.reply ?? clear, location)
        .toString(),
    ).toBe("reply");
    expect(replies[1]?.reply).toEqual(clear);
    expect(await reencrypt({ db: owner, keys: newer, columns, log })).toMatchObject({ resealed: 0, passes: 1 });
  });

  it("goes on where a run that died had come to", async () => {
    await fill(9);
    let chunks = 0;
    const dying: Database = {
      ...owner,
      tx: async (who, fn, options) => {
        if (who === null) throw new Error("never");
        return owner.tx(
          who,
          async (tx) => {
            const result = await fn(tx);
            // Queue, claim, two chunks; the third dies before its COMMIT.
            chunks += 1;
            if (chunks === 5) throw new Error("killed");
            return result;
          },
          options,
        );
      },
    };
    await expect(reencrypt({ db: dying, keys: both, columns: [things], log, chunkRows: 2 })).rejects.toThrow();
    const half = (await stored()).filter(({ secret }) => secretBox(both, "test").isCurrent(secret));
    expect([2, 4]).toContain(half.length);
    const result = await reencrypt({ db: owner, keys: both, columns: [things], log, chunkRows: 2, staleMs: 0 });
    expect(result).toMatchObject({ seen: 9, resealed: 9 });
    await expectAllUnder(newer);
    const [count] = await owner.read<{ jobs: string }>(system, sql`SELECT count(*)::text AS jobs FROM job`);
    expect(count?.jobs).toBe("1");
  });

  it("does not wait for a locked row, and returns to it later", async () => {
    const [id = ""] = await fill(4);
    let done = false;
    const running = await owner.tx(system, async (tx) => {
      await tx.query(sql`SELECT FROM things WHERE id = ${id} FOR UPDATE`);
      const run = reencrypt({ db: owner, keys: both, columns: [things], log }).then((result) => {
        done = true;
        return result;
      });
      // All others are done while this one is held.
      for (;;) {
        const box = secretBox(both, "test");
        const current = (await stored()).filter(({ secret }) => box.isCurrent(secret)).length;
        if (current === 3) break;
      }
      expect(done).toBe(false);
      return { run };
    });
    expect((await running.run).resealed).toBe(4);
    await expectAllUnder(newer);
  });

  it("never puts an older secret over one that changed meanwhile", async () => {
    const [id = ""] = await fill(1);
    const changed = seal(older, id, "a");
    const swapped = await owner.tx(system, async (tx) => {
      const [row] = await sealedPage(tx, things, null, 10);
      await tx.execute(sql`UPDATE things SET secret = ${changed} WHERE id = ${id}`);
      return row ? swapEnvelopes(tx, things, [{ ...row, fresh: seal(both, id, "a") }]) : -1;
    });
    expect(swapped).toBe(0);
    expect((await stored())[0]?.secret).toEqual(changed);
  });

  it("does all the others and fails when a secret opens with no key", async () => {
    const [id = ""] = await fill(3);
    const foreign = seal(newKey("k0"), id, "lost");
    await put(id, "lost", foreign);
    await expect(reencrypt({ db: owner, keys: both, columns, log })).rejects.toThrow(
      "1 secrets open with none of the keys",
    );
    const rows = await stored();
    expect(rows.filter(({ secret }) => secretBox(both, "test").isCurrent(secret))).toHaveLength(3);
    expect(rows.find(({ part }) => part === "lost")?.secret).toEqual(foreign);
    const [job] = await owner.read<{ state: string }>(system, sql`SELECT state FROM job`);
    expect(job?.state).toBe("failed");
  });

  it("starts over for another first key", async () => {
    await fill(2);
    await owner.tx(system, (tx) =>
      tx.execute(sql`
        INSERT INTO job (id, kind, state, input, cursor, heartbeat_at, attempts)
        VALUES (${uuidv7()}, 'reencrypt', 'running', '{"keyId": "k9"}', '{"column": 7}', now() - interval '1 h', 1)`),
    );
    expect(await reencrypt({ db: owner, keys: both, columns, log })).toMatchObject({ resealed: 2 });
  });
});
