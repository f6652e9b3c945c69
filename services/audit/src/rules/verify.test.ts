import { createHash, randomBytes } from "node:crypto";
import { describe, expect, it } from "@jest/globals";
import { generateNoteKey, noteKeys, signNote } from "@muster/kit";
import type { ChainRow } from "./chain-row.ts";
import { checkpointText } from "./checkpoint.ts";
import type { Entry } from "./entry.ts";
import { receiptText } from "./receipt.ts";
import { restoreText } from "./restore.ts";
import { foundChecksum, sealChain } from "./seal.ts";
import { endVerification, type Finding, newVerification, takeCheckpoints, takeReceipts, takeRow } from "./verify.ts";

const chainId = "01890000-0000-7000-8000-00000000000a";
const otherChain = "01890000-0000-7000-8000-0000000000aa";
const at = new Date("2026-03-01T10:00:00.000Z");
const { signer, verifiers } = noteKeys(generateNoteKey("test"));
const trust = { verifiers, deployment: "d" };

function entry(n: number, chain = chainId): Entry {
  return {
    id: `01890000-0000-7000-8000-${String(n).padStart(12, "0")}`,
    chainId: chain,
    orgId: chain,
    partnerId: null,
    timestamp: new Date(at.getTime() + n),
    actorType: "user",
    actorId: chainId,
    actorEmail: `${n}@example.com`,
    actorName: null,
    actorRole: null,
    actorDepartment: null,
    sessionId: null,
    action: "site.create",
    resourceType: "site",
    resourceId: chainId,
    resourceName: null,
    details: { n },
    ipAddress: null,
    userAgent: null,
    result: "success",
    errorMessage: null,
  };
}

function chainOf(count: number, chain = chainId, from = 1, after?: ChainRow): ChainRow[] {
  const entries = Array.from({ length: count }, (_, n) => entry(n + from, chain));
  const head = { seq: after?.seq ?? 0, checksum: after?.checksum ?? null };
  const sealed = sealChain(head, entries, randomBytes);
  return sealed.map(({ detailsJson: _, time: _time, personalSalt, ...row }) => ({
    ...row,
    personalSalt: Buffer.from(personalSalt, "hex"),
    personalDigest: null,
  }));
}

type Inputs = {
  rows: ChainRow[];
  head: { seq: number; checksum: string | null } | null;
  checkpoints: { seq: number | null; note: string }[];
  receipts: { seq: number; note: string }[];
  base: { seq: number; checksum: string | null };
  from?: number;
};

const noteAt = (row: ChainRow | undefined, chain = chainId) => {
  if (!row) throw new Error("no such row");
  return {
    seq: row.seq,
    note: signNote(checkpointText("d", { chainId: chain, seq: row.seq, head: row.checksum, at }), signer),
  };
};

function whole(count = 10, checkpointed = [4, 8]): Inputs {
  const rows = chainOf(count);
  const last = rows.at(-1);
  return {
    rows,
    head: { seq: count, checksum: last?.checksum ?? null },
    checkpoints: checkpointed.map((seq) => noteAt(rows[seq - 1])),
    receipts: [],
    base: { seq: 0, checksum: null },
  };
}

/** Findings in short form: `ALTERED 3`, `DELETED 3-5`. The state is serialised as JSON after each row, as in a job. */
function verify(inputs: Inputs): string[] {
  let v = newVerification({ chainId, from: inputs.from ?? null });
  takeReceipts(v, trust, inputs.receipts, inputs.base);
  takeCheckpoints(v, trust, inputs.checkpoints);
  for (const row of [...inputs.rows].sort((a, b) => a.seq - b.seq)) {
    takeRow(v, row, inputs.head?.seq ?? null);
    v = JSON.parse(JSON.stringify(v));
  }
  return endVerification(v, inputs.head).map(short);
}

function short({ verdict: name, seq, lastSeq, expected, have, rows, format }: Finding): string {
  const verdict = format === undefined ? name : `${name}(${format})`;
  if (verdict === "OK" || verdict === "UNPROTECTED_TAIL") return `${verdict} ${rows}`;
  if (expected !== undefined) return `${verdict} ${expected} ${have}`;
  if (seq === undefined) return verdict;
  return lastSeq === undefined ? `${verdict} ${seq}` : `${verdict} ${seq}-${lastSeq}`;
}

const rowAt = (inputs: Inputs, seq: number) => inputs.rows.find((row) => row.seq === seq) as ChainRow;
const resealed = (row: ChainRow) => ({ ...row, checksum: foundChecksum(row, row.seq, row.prevChecksum) ?? "" });
const tail = "UNPROTECTED_TAIL 2";

describe("verification", () => {
  it("reports an intact chain as intact, also an empty one and from the middle", () => {
    expect(verify(whole())).toEqual(["OK 10", tail]);
    expect(verify({ ...whole(10, [10]) })).toEqual(["OK 10"]);
    expect(verify({ ...whole(0, []), head: null })).toEqual(["OK 0"]);
    expect(verify({ ...whole(0, []), head: { seq: 0, checksum: null } })).toEqual(["OK 0"]);
    const inputs = whole();
    const later = inputs.checkpoints.filter(({ seq }) => Number(seq) >= 5);
    expect(verify({ ...inputs, from: 5, rows: inputs.rows.slice(4), checkpoints: later })).toEqual(["OK 6", tail]);
  });

  const columns: [string, (row: ChainRow) => void][] = [
    ...(Object.keys(entry(1)) as (keyof Entry)[])
      .filter((name) => name !== "chainId")
      .map((name): [string, (row: ChainRow) => void] => [
        name,
        (row) => {
          const value = row.entry[name];
          const next =
            value instanceof Date
              ? new Date(value.getTime() + 1)
              : typeof value === "string"
                ? `x${value.slice(1)}`
                : value
                  ? { x: 1 }
                  : "x";
          row.entry = { ...row.entry, [name]: next };
        },
      ]),
    ["personalSalt", (row) => Object.assign(row, { personalSalt: Buffer.alloc(16, 1) })],
    ["checksum", (row) => Object.assign(row, { checksum: `${row.checksum.slice(0, -1)}x` })],
    ["prevChecksum", (row) => Object.assign(row, { prevChecksum: "ab".repeat(32) })],
    ["prevChecksum to null", (row) => Object.assign(row, { prevChecksum: null })],
    ["time that is none", (row) => Object.assign(row, { entry: { ...row.entry, timestamp: new Date(Number.NaN) } })],
  ];
  for (const seq of [1, 2, 4, 9, 10]) {
    it.each(columns)(`says ALTERED ${seq}, and nothing else, of a changed %s`, (name, change) => {
      const inputs = whole();
      change(rowAt(inputs, seq));
      // The first row has nothing before it to lose.
      if (seq === 1 && name === "prevChecksum to null") return;
      expect(verify(inputs)).toEqual([`ALTERED ${seq}`, tail]);
    });
  }

  describe("with rows sealed by a later version", () => {
    /** Rows 5 and 6 of 10 are of format 2, which has longer checksums. */
    function later(): Inputs {
      const sealed = chainOf(4);
      for (const seq of [5, 6]) {
        const last = sealed.at(-1) as ChainRow;
        const checksum = createHash("sha512").update(`${seq}${last.checksum}`).digest("hex");
        sealed.push({ ...last, entry: entry(seq), seq, format: 3, checksum, prevChecksum: last.checksum });
      }
      const rows = [...sealed, ...chainOf(4, chainId, 7, sealed.at(-1))];
      const head = { seq: 10, checksum: rows[9]?.checksum ?? null };
      return { ...whole(), rows, head, checkpoints: [noteAt(rows[3]), noteAt(rows[7])] };
    }

    it("reports UNKNOWN_FORMAT, and neither OK nor ALTERED", () => {
      expect(verify(later())).toEqual(["UNKNOWN_FORMAT(3) 5-6", tail]);
      const erased = later();
      rowAt(erased, 5).personalDigest = "ab".repeat(32);
      expect(verify(erased)).toEqual(["UNKNOWN_FORMAT(3) 5-6", tail]);
      const first = later();
      expect(verify({ ...first, from: 6, rows: first.rows.slice(5), checkpoints: first.checkpoints.slice(1) })).toEqual(
        ["UNKNOWN_FORMAT(3) 6", tail],
      );
    });

    it("still finds what the links and the rows around them show", () => {
      const inputs = later();
      const without = (seq: number) => verify({ ...inputs, rows: inputs.rows.filter((row) => row.seq !== seq) });
      expect(without(5)).toEqual(["UNKNOWN_FORMAT(3) 6", "DELETED 5", tail]);
      expect(without(10)).toEqual(["UNKNOWN_FORMAT(3) 5-6", "HEAD_MISMATCH 10 9", "UNPROTECTED_TAIL 1"]);
      const changed = later();
      rowAt(changed, 9).entry = entry(99);
      expect(verify(changed)).toEqual(["UNKNOWN_FORMAT(3) 5-6", "ALTERED 9", tail]);
      const exchanged = later();
      rowAt(exchanged, 6).checksum = "cd".repeat(64);
      expect(verify(exchanged)).toEqual(["UNKNOWN_FORMAT(3) 5-6", "FORK 6", tail]);
      const relinked = later();
      rowAt(relinked, 5).prevChecksum = "cd".repeat(32);
      expect(verify(relinked)).toEqual(["UNKNOWN_FORMAT(3) 5", "FORK 4", "UNKNOWN_FORMAT(3) 6", tail]);
      const added: ChainRow = { ...rowAt(inputs, 6), seq: 11, prevChecksum: rowAt(inputs, 10).checksum };
      expect(verify({ ...inputs, rows: [...inputs.rows, added] })).toEqual([
        "UNKNOWN_FORMAT(3) 5-6",
        "INSERTED 11",
        "UNPROTECTED_TAIL 3",
      ]);
    });

    it("compares their checksums with checkpoints", () => {
      const inputs = later();
      const head = createHash("sha256").update("another").digest("hex");
      const note = signNote(checkpointText("d", { chainId, seq: 6, head, at }), signer);
      expect(verify({ ...inputs, checkpoints: [{ seq: 6, note }] })).toContain("CHECKPOINT_MISMATCH 6");
    });

    it.each([1, 2, 4, 9, 10])("never reports OK for row %d when only its format was changed", (seq) => {
      const inputs = whole();
      rowAt(inputs, seq).format = 3;
      expect(verify(inputs)).toEqual([`UNKNOWN_FORMAT(3) ${seq}`, tail]);
      const v = newVerification({ chainId, isSelection: true });
      takeRow(v, rowAt(inputs, seq), null);
      expect(v.findings.list[0]?.reason).toBe("its checksum is of format 1");
    });

    it("leaves room for what is wrong among any number of them", () => {
      const inputs = whole(2_402, []);
      for (const row of inputs.rows) if (row.seq % 2 === 0) row.format = 3;
      rowAt(inputs, 2_401).entry = entry(1);
      expect(verify(inputs)).toContain("ALTERED 2401");
    });
  });

  it.each([
    [3, 4],
    [3, 7],
    [1, 2],
    [9, 10],
    [2, 10],
  ])("reports ALTERED for two swapped rows (%d and %d)", (a, b) => {
    const inputs = whole();
    const [first, second] = [rowAt(inputs, a), rowAt(inputs, b)];
    first.seq = b;
    second.seq = a;
    const found = verify(inputs).filter((text) => !text.startsWith("UNPROTECTED") && !text.startsWith("CHECKPOINT"));
    expect(found).toEqual(b === a + 1 ? [`ALTERED ${a}-${b}`] : [`ALTERED ${a}`, `ALTERED ${b}`]);
  });

  it("reports which rows are missing", () => {
    const without = (...seqs: number[]) => {
      const inputs = whole();
      return verify({ ...inputs, rows: inputs.rows.filter(({ seq }) => !seqs.includes(seq)) });
    };
    expect(without(3)).toEqual(["DELETED 3", tail]);
    expect(without(3, 4, 5, 7)).toEqual(["DELETED 3-5", "DELETED 7", tail]);
    expect(without(1, 2)).toEqual(["DELETED 1-2", "UNPROTECTED_TAIL 2"]);
    expect(without(10)).toEqual(["HEAD_MISMATCH 10 9", "UNPROTECTED_TAIL 1"]);
    expect(without(7, 8, 9, 10)).toEqual(["TRUNCATED 10 6", "UNPROTECTED_TAIL 2"]);
    const truncated = whole();
    const rows = truncated.rows.slice(0, 6);
    const head = { seq: 6, checksum: rows[5]?.checksum ?? null };
    expect(verify({ ...truncated, rows, head })).toEqual(["TRUNCATED 8 6", "UNPROTECTED_TAIL 2"]);
  });

  it("accepts a prune with its receipt, and reports a missing receipt", () => {
    const inputs = whole();
    const receipt = (firstSeq: number, lastSeq: number) => {
      const { checksum } = rowAt(inputs, lastSeq);
      const facts = { chainId, firstSeq, lastSeq, lastChecksum: checksum, prunedAt: at, archiveDigest: null };
      return { seq: lastSeq, note: signNote(receiptText("d", facts), signer) };
    };
    const rows = inputs.rows.slice(5);
    const base = { seq: 5, checksum: rowAt(inputs, 5).checksum };
    const receipts = [receipt(1, 3), receipt(4, 5)];
    expect(verify({ ...inputs, rows, base, receipts })).toEqual(["OK 5", "PRUNED_PREFIX 1-5", tail]);
    expect(verify({ ...inputs, rows, base, receipts: receipts.slice(0, 1) })).toEqual([
      "PRUNED_PREFIX 1-3",
      "PRUNED_PREFIX 4-5",
      tail,
    ]);
    expect(verify({ ...inputs, rows, base, receipts: receipts.slice(1) })).toEqual([
      "PRUNED_PREFIX 1-5",
      "PRUNED_PREFIX 1-3",
      tail,
    ]);
    expect(verify({ ...inputs, rows, base, receipts: [] })).toEqual(["PRUNED_PREFIX 1-5", tail]);
    expect(verify({ ...inputs, base, receipts })[0]).toBe("PRUNED_PREFIX 1-5");
    expect(verify({ ...inputs, base, receipts })).toContain("INSERTED 1-5");
    const forged = { seq: 5, note: receipts[1]?.note.replace("\n4\n", "\n1\n") ?? "" };
    expect(verify({ ...inputs, rows, base, receipts: [forged] })).toEqual([
      "BAD_SIGNATURE 5",
      "PRUNED_PREFIX 1-5",
      tail,
    ]);
    // All rows pruned: the chain continues with a link to its base.
    // The head was put back to where the chain began before the prune.
    const kept = { ...inputs, rows, base: { seq: 3, checksum: rowAt(inputs, 3).checksum }, receipts };
    expect(verify(kept)).toContain("HEAD_MISMATCH 5 3");
    const all = [receipt(1, 10)];
    const end = { seq: 10, checksum: rowAt(inputs, 10).checksum };
    expect(verify({ ...inputs, rows: [], base: end, receipts: all })).toEqual(["OK 0", "PRUNED_PREFIX 1-10"]);
  });

  it("reports INSERTED or FORK for added rows", () => {
    const appended = whole();
    const [last, next] = [rowAt(appended, 10), { ...entry(99) }];
    const added: ChainRow = { ...last, entry: next, seq: 11, prevChecksum: last.checksum };
    expect(verify({ ...appended, rows: [...appended.rows, resealed(added)] })).toEqual([
      "INSERTED 11",
      "UNPROTECTED_TAIL 3",
    ]);
    const altered = { ...added, checksum: "f".repeat(64) };
    expect(verify({ ...appended, rows: [...appended.rows, altered] })).toEqual(["INSERTED 11", "UNPROTECTED_TAIL 3"]);

    // In between, the rest renumbered.
    const between = whole();
    const extra = resealed({
      ...rowAt(between, 5),
      entry: entry(99),
      seq: 6,
      prevChecksum: rowAt(between, 5).checksum,
    });
    for (const row of between.rows) if (row.seq > 5) row.seq += 1;
    expect(verify({ ...between, rows: [...between.rows, extra] })).toEqual([
      "INSERTED 6",
      "REORDERED 7-11",
      expect.any(String),
    ]);

    // Instead of another.
    const replaced = whole();
    const other = resealed({ ...rowAt(replaced, 6), entry: entry(99) });
    expect(verify({ ...replaced, rows: [...replaced.rows.filter(({ seq }) => seq !== 6), other] })).toEqual([
      "FORK 6",
      tail,
    ]);

    // Beside another, its number twice.
    const twice = whole();
    const duplicate = resealed({ ...rowAt(twice, 6), entry: entry(99) });
    expect(verify({ ...twice, rows: [...twice.rows, duplicate] })).toEqual(["FORK 6", tail]);
    expect(verify({ ...twice, rows: [...twice.rows, { ...rowAt(twice, 6) }] })).toEqual(["INSERTED 6", tail]);

    // Beside the first row of what is left.
    const beheaded = whole();
    const second = resealed({ ...rowAt(beheaded, 2), entry: entry(99) });
    const rest = beheaded.rows.filter(({ seq }) => seq > 1);
    expect(verify({ ...beheaded, rows: [...rest, second] })).toEqual(["FORK 2", "DELETED 1", tail]);
  });

  it("reports numbers that a writer with the chain's rows has skipped", () => {
    const earlier = chainOf(5);
    const later = chainOf(5, chainId, 6, { ...rowAt({ ...whole(), rows: earlier }, 5), seq: 7 });
    const last = later.at(-1);
    const inputs = { ...whole(), rows: [...earlier, ...later], checkpoints: [noteAt(last)] };
    expect(verify({ ...inputs, head: { seq: 12, checksum: last?.checksum ?? null } })).toEqual(["DELETED 6-7"]);
  });

  it("reports INSERTED for a row copied from another chain", () => {
    const foreign = chainOf(12, otherChain, 50);
    const copy = (row: ChainRow | undefined, seq: number): ChainRow => {
      if (!row) throw new Error("no row");
      return { ...row, seq, entry: { ...row.entry, chainId, orgId: chainId } };
    };
    const inputs = whole();
    expect(verify({ ...inputs, rows: [...inputs.rows, copy(foreign[10], 11)] })).toEqual([
      "INSERTED 11",
      "UNPROTECTED_TAIL 3",
    ]);
    expect(verify({ ...inputs, rows: [...inputs.rows, copy(foreign[3], 40)] })).toEqual(["INSERTED 40", tail]);
    // The head moved along.
    const moved = { ...inputs, head: { seq: 11, checksum: foreign[10]?.checksum ?? "" } };
    expect(verify({ ...moved, rows: [...inputs.rows, copy(foreign[10], 11)] })).toEqual([
      "INSERTED 11",
      "UNPROTECTED_TAIL 3",
    ]);
  });

  it("reports REORDERED or ALTERED for renumbered rows", () => {
    const shifted = whole();
    for (const row of shifted.rows) if (row.seq > 6) row.seq += 3;
    expect(verify({ ...shifted, head: { seq: 13, checksum: rowAt(shifted, 13).checksum } })).toContain(
      "REORDERED 10-13",
    );
    const moved = whole();
    rowAt(moved, 6).seq = 400;
    expect(verify(moved)).toEqual(["ALTERED 400", tail]);
    const negative = whole();
    rowAt(negative, 6).seq = -3;
    expect(verify(negative)).toEqual(["ALTERED -3", tail]);
    const closed = whole();
    closed.rows = closed.rows.filter(({ seq }) => seq !== 3);
    for (const row of closed.rows) if (row.seq > 3) row.seq -= 1;
    const found = verify({ ...closed, head: { seq: 9, checksum: rowAt(closed, 9).checksum } });
    expect(found.some((text) => /^(ALTERED|REORDERED) 3/.test(text))).toBe(true);
  });

  it("reports CHECKPOINT_MISMATCH for a chain rebuilt without the key", () => {
    const before = whole();
    const rebuilt = whole();
    expect(verify({ ...rebuilt, checkpoints: before.checkpoints })).toEqual([
      "CHECKPOINT_MISMATCH 4",
      "CHECKPOINT_MISMATCH 8",
      "UNPROTECTED_TAIL 10",
    ]);
    const key = noteKeys(generateNoteKey("test")).signer;
    const row = rowAt(rebuilt, 8);
    const forged = signNote(checkpointText("d", { chainId, seq: 8, head: row.checksum, at }), key);
    expect(verify({ ...rebuilt, checkpoints: [{ seq: 8, note: forged }] })).toEqual([
      "BAD_SIGNATURE 8",
      "UNPROTECTED_TAIL 10",
    ]);
  });

  describe("after a restore to row 6", () => {
    const minutes = (n: number) => new Date(at.getTime() + n * 60_000);
    const declared = (from: number, to: number, by = signer, deployment = "d") => ({
      seq: null,
      note: signNote(restoreText(deployment, { restoredTo: minutes(from), declaredAt: minutes(to) }), by),
    });
    const before = whole(10, [4, 8, 10]);
    const kept = before.rows.slice(0, 6);
    const went = { ...before, rows: kept, head: { seq: 6, checksum: kept[5]?.checksum ?? null } };
    const onward = [...kept, ...chainOf(6, chainId, 100, kept[5])];
    const wentOn = { ...before, rows: onward, head: { seq: 12, checksum: onward[11]?.checksum ?? null } };
    const withNote = (inputs: Inputs, note: Inputs["checkpoints"][number]) => ({
      ...inputs,
      checkpoints: [...inputs.checkpoints, note],
    });

    it("reports RESTORED when that was declared, also after it continued", () => {
      expect(verify(withNote(went, declared(-1, 1)))).toEqual(["OK 6", tail, "RESTORED 8-10"]);
      expect(verify(withNote(wentOn, declared(-1, 1)))).toEqual(["OK 12", "UNPROTECTED_TAIL 8", "RESTORED 8-10"]);
    });

    it("reports TRUNCATED or CHECKPOINT_MISMATCH when it was not declared, or for another time", () => {
      for (const inputs of [went, withNote(went, declared(1, 2)), withNote(went, declared(-2, -1))]) {
        expect(verify(inputs)).toEqual(["TRUNCATED 10 6", tail]);
      }
      expect(verify(withNote(wentOn, declared(1, 2)))).toContain("CHECKPOINT_MISMATCH 8");
    });

    it("accepts no declaration of another key or deployment, or one that ends before it begins", () => {
      const outsider = noteKeys(generateNoteKey("other")).signer;
      for (const note of [declared(-1, 1, outsider), declared(-1, 1, signer, "e"), declared(1, -1)]) {
        expect(verify(withNote(went, note))).toEqual(expect.arrayContaining(["BAD_SIGNATURE", "TRUNCATED 10 6"]));
      }
    });
  });

  it("accepts no checkpoint of another chain, deployment, position or kind", () => {
    const inputs = whole();
    const row = rowAt(inputs, 8);
    const facts = { chainId, seq: 8, head: row.checksum, at };
    const bad = [
      noteAt(row, otherChain).note,
      signNote(checkpointText("elsewhere", facts), signer),
      signNote(checkpointText("d", { ...facts, seq: 7 }), signer),
      "nonsense",
    ];
    for (const note of bad) {
      expect(verify({ ...inputs, checkpoints: [{ seq: 8, note }] })).toEqual([
        "BAD_SIGNATURE 8",
        "UNPROTECTED_TAIL 10",
      ]);
    }
  });

  it("reports a head that was moved back, forward or to another checksum", () => {
    const inputs = whole();
    expect(verify({ ...inputs, head: { seq: 7, checksum: rowAt(inputs, 7).checksum } })).toEqual([
      "HEAD_MISMATCH 7 10",
      tail,
    ]);
    expect(verify({ ...inputs, head: { seq: 12, checksum: "x" } })).toEqual(["HEAD_MISMATCH 12 10", tail]);
    expect(verify({ ...inputs, head: { seq: 10, checksum: "x" } })).toEqual(["HEAD_MISMATCH 10", tail]);
    expect(verify({ ...inputs, head: null })).toEqual(["HEAD_MISMATCH", tail]);
  });

  it("reports ERASED for a row whose personal fields were erased, and continues", () => {
    const inputs = whole();
    const row = rowAt(inputs, 5);
    const fields = '{"actorEmail":"5@example.com","actorName":null,"ipAddress":null,"userAgent":null}';
    row.personalDigest = createHash("sha256").update(row.personalSalt).update(fields).digest("hex");
    row.personalSalt = Buffer.alloc(0);
    row.entry = { ...row.entry, actorEmail: null };
    expect(verify(inputs)).toEqual(["OK 10", "ERASED 5", tail]);
    row.entry = { ...row.entry, action: "x" };
    expect(verify(inputs)).toEqual(["ERASED 5", "ALTERED 5", tail]);
  });

  it("continues after the first finding", () => {
    const inputs = whole(30, [10, 20, 30]);
    rowAt(inputs, 3).entry = entry(99);
    rowAt(inputs, 12).checksum = "0";
    inputs.rows = inputs.rows.filter(({ seq }) => seq !== 17 && seq !== 18);
    inputs.checkpoints[0] = { seq: 10, note: "nonsense" };
    expect(verify(inputs).sort()).toEqual(["ALTERED 12", "ALTERED 3", "BAD_SIGNATURE 10", "DELETED 17-18"]);
  });
});
