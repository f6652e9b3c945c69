import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "@jest/globals";
import { exportVerifier } from "../offline/verify-export.ts";
import { aChainRow } from "../testing/chain-row.ts";
import type { ChainRow } from "./chain-row.ts";
import type { Entry } from "./entry.ts";
import { parseLine, renderRow } from "./export-line.ts";
import { foundChecksum, sealChain } from "./seal.ts";
import { endVerification, newVerification, takeReceipts, takeRow } from "./verify.ts";

const fixture = readFileSync(fileURLToPath(new URL("../testing/export-format-1.jsonl", import.meta.url)), "utf8");
/** Whose rows were exported before format 2 was. */
const oldKey = "old.example+705b4c1f+AaX4BKB/gc6GtWBSy8FhOmbszpS/WJtqM9IZNZHsGa/U";
const targets = [
  { type: "user", id: "018f6f1e-7c2a-7b3d-9e4f-0a1b2c3d4e5f", name: "Ada 😀" },
  { type: "invoice", id: "2026-0042", name: null },
];

const { entry } = aChainRow();
const chained = (...changes: Partial<Entry>[]): ChainRow[] =>
  sealChain(
    { seq: 0, checksum: null },
    changes.map((change) => ({ ...entry, orgId: entry.chainId, ...change })),
    (count) => Buffer.alloc(count, 5),
  ).map(({ entry: sealed, seq, format, personalSalt, checksum, prevChecksum }) => {
    const salt = Buffer.from(personalSalt, "hex");
    return { entry: sealed, seq, format, personalSalt: salt, personalDigest: null, checksum, prevChecksum };
  });
function verdictsOf(rows: readonly ChainRow[]): string[] {
  const v = newVerification({ chainId: entry.chainId, isSelection: false });
  takeReceipts(v, { verifiers: [], deployment: null }, [], { seq: 0, checksum: null });
  const head = { seq: rows.length, checksum: rows.at(-1)?.checksum ?? null };
  for (const row of rows) takeRow(v, row, head.seq);
  return endVerification(v, head).map(({ verdict }) => verdict);
}

describe("an export of format 1", () => {
  it("verifies unchanged", () => {
    const verifier = exportVerifier({ keys: [oldKey], deployment: "old.example" });
    for (const line of fixture.trimEnd().split("\n")) verifier.line(line);
    expect(verifier.end()).toMatchObject({ ok: true, rows: 6, file: [], chains: [{ findings: [{ verdict: "OK" }] }] });
  });

  it("is written as it was", () => {
    for (const line of fixture.split("\n").filter((each) => each.startsWith('{"type":"row"'))) {
      const parsed = parseLine(line);
      expect(parsed.type === "row" && renderRow(parsed)).toBe(`${line}\n`);
    }
  });
});

describe("rows of formats 1 and 2", () => {
  const rows = () => chained({}, { targets }, {}, { targets: targets.slice(1) });

  it("are in one chain, each in the format of its values", () => {
    expect(rows().map(({ format }) => format)).toEqual([1, 2, 1, 2]);
    expect(verdictsOf(rows())).toEqual(["OK", "UNPROTECTED_TAIL"]);
    // As an export has them, too.
    const read = rows().map((row) => parseLine(renderRow(row)) as ChainRow);
    expect(verdictsOf(read)).toEqual(["OK", "UNPROTECTED_TAIL"]);
  });

  it.each<[string, (row: ChainRow) => ChainRow]>([
    ["another target", (row) => ({ ...row, entry: { ...row.entry, targets: targets.slice(1) } })],
    ["targets in another order", (row) => ({ ...row, entry: { ...row.entry, targets: targets.toReversed() } })],
    ["targets taken away", ({ entry: { targets: _, ...rest }, ...row }) => ({ ...row, entry: rest })],
    [
      "targets taken away and format 1",
      ({ entry: { targets: _, ...rest }, ...row }) => ({ ...row, format: 1, entry: rest }),
    ],
    ["format 1", (row) => ({ ...row, format: 1 })],
    ["targets that are none", (row) => ({ ...row, entry: { ...row.entry, targets: [{ id: 7 }] as never } })],
    ["a further member", (row) => ({ ...row, entry: { ...row.entry, targets: [{ ...targets[0], x: 1 }] as never } })],
  ])("show %s in a row of format 2", (_, change) => {
    const [first, second, ...more] = rows();
    if (!first || !second) throw new Error("no rows");
    expect(verdictsOf([first, change(second), ...more])).toContain("ALTERED");
  });

  it("show targets that were added to a row of format 1, whichever format it says", () => {
    const [first, ...more] = rows();
    if (!first) throw new Error("no rows");
    for (const format of [1, 2]) {
      expect(verdictsOf([{ ...first, format, entry: { ...first.entry, targets } }, ...more])).toContain("ALTERED");
    }
  });

  it("leave rows of a later version as an unknown format, not altered", () => {
    const [first, second, ...more] = rows();
    if (!first || !second) throw new Error("no rows");
    expect(foundChecksum({ ...second, format: 3 }, second.seq, second.prevChecksum)).toBeNull();
    expect(verdictsOf([first, { ...second, format: 3 }, ...more])).not.toContain("ALTERED");
    expect(verdictsOf([first, { ...second, format: 3 }, ...more])).toContain("UNKNOWN_FORMAT");
  });
});
