import { spawnSync } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { generateNoteKey, noteKeys, signNote } from "@muster/kit";
import type { ChainRow } from "../rules/chain-row.ts";
import { checkpointText } from "../rules/checkpoint.ts";
import { exportText, renderChain, renderEnd, renderRow } from "../rules/export-line.ts";
import { sealChain } from "../rules/seal.ts";

const program = fileURLToPath(new URL("../../../../deploy/cli/dist/muster-audit.js", import.meta.url));
const chainId = "01890000-0000-7000-8000-00000000000a";
const at = new Date("2026-03-01T10:00:00.000Z");
const { signer } = noteKeys(generateNoteKey("muster-audit-test"));

let directory: string;
let lines: string[];
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "muster-audit-"));
  lines = exported();
});
afterAll(async () => {
  if (directory) await rm(directory, { recursive: true, force: true });
});

/** An export of five rows with a checkpoint at the third. */
function exported(change: (row: ChainRow) => ChainRow = (row) => row, more: string[] = []): string[] {
  const nothing = { actorName: null, actorRole: null, actorDepartment: null, sessionId: null, resourceName: null };
  const entries = Array.from({ length: 5 }, (_, n) => ({
    ...nothing,
    id: `01890000-0000-7000-8000-${String(n).padStart(12, "0")}`,
    chainId,
    orgId: chainId,
    partnerId: null,
    timestamp: at,
    actorType: "user" as const,
    actorId: chainId,
    actorEmail: "ada@example.com",
    action: "site.create",
    resourceType: "site",
    resourceId: chainId,
    details: { n },
    ipAddress: null,
    userAgent: null,
    result: "success" as const,
    errorMessage: null,
  }));
  const rows = sealChain({ seq: 0, checksum: null }, entries, randomBytes);
  const head = rows[2]?.checksum ?? "";
  const checkpoint = signNote(checkpointText("muster.test", { chainId, seq: 3, head, at }), signer);
  const headChecksum = rows[4]?.checksum ?? null;
  const text = [
    ...rows.map(({ detailsJson: _, time: _time, personalSalt, ...row }) =>
      renderRow(change({ ...row, personalSalt: Buffer.from(personalSalt, "hex"), personalDigest: null })),
    ),
    ...more,
    renderChain({ chainId, headSeq: 5, headChecksum, from: 1, checkpoint, copies: [], receipts: [] }),
  ];
  const sha256 = createHash("sha256").update(text.join("")).digest("hex");
  const note = signNote(exportText("muster.test", 5, sha256, at), signer);
  return [...text, renderEnd({ rows: 5, truncated: false, keys: [signer.text], note })];
}

async function run(text: string | Buffer, args: string[], name = "export.jsonl") {
  const file = join(directory, name);
  await writeFile(file, text);
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, "verify", file, ...args], {
    encoding: "utf8",
  });
  return { status, output: stdout + stderr };
}

describe("muster-audit verify", () => {
  it("exits with 0 when everything verifies, gzipped, too, and with the key in a file", async () => {
    const key = join(directory, "keys.txt");
    await writeFile(key, `# ours\n${signer.text}\n`);
    const expected = {
      status: 0,
      output: [
        `key    ${signer.text}`,
        "export 5 rows, signed 2026-03-01T10:00:00.000Z",
        `chain  ${chainId}`,
        "       OK rows 1-5 5 rows",
        "       UNPROTECTED_TAIL 2 rows",
        "OK\n",
      ].join("\n"),
    };
    expect(await run(lines.join(""), ["--key", signer.text, "--deployment", "muster.test"])).toEqual(expected);
    expect(await run(gzipSync(lines.join("")), ["--key", key], "export.jsonl.gz")).toEqual(expected);
    const unsure = await run(lines.join(""), []);
    expect([unsure.status, unsure.output.includes("taken from the file itself")]).toEqual([0, true]);
  });

  it("exits with 1 and prints the findings", async () => {
    const key = ["--key", signer.text];
    const changed = await run(lines.join("").replace("ada@", "eve@"), key);
    expect([changed.status, changed.output]).toEqual([1, expect.stringMatching(/ALTERED row 1\n[\s\S]*NOT OK\n$/)]);
    const truncated = await run(lines.filter((_, n) => n !== 1).join(""), [...key, "--json"]);
    expect(truncated.status).toBe(1);
    expect(JSON.parse(truncated.output)).toMatchObject({
      ok: false,
      keysGiven: true,
      chains: [{ chainId, findings: [{ verdict: "DELETED", seq: 2 }, { verdict: "UNPROTECTED_TAIL" }] }],
    });
    const elsewhere = await run(lines.join(""), [...key, "--deployment", "another"]);
    expect([elsewhere.status, elsewhere.output]).toEqual([1, expect.stringContaining("BAD_SIGNATURE")]);
    const foreign = await run(lines.join(""), ["--key", noteKeys(generateNoteKey("muster-audit-test")).signer.text]);
    expect([foreign.status, foreign.output]).toEqual([1, expect.stringContaining("BAD_SIGNATURE")]);
    expect((await run("", key)).status).toBe(1);
  });

  it("prints UNKNOWN_FORMAT of rows and lines that a later version wrote, and that the rest is not verified", async () => {
    const later = (row: ChainRow) => (row.seq === 2 ? { ...row, format: 3 } : row);
    const args = ["--key", signer.text, "--deployment", "muster.test"];
    const { status, output } = await run(exported(later, ['{"type":"notice","text":"x"}\n']).join(""), args);
    expect([status, output]).toEqual([
      1,
      [
        `key    ${signer.text}`,
        "export 5 rows, signed 2026-03-01T10:00:00.000Z",
        'file   UNKNOWN_FORMAT (line 6 is of the kind "notice")',
        `chain  ${chainId}`,
        "       UNKNOWN_FORMAT(3) row 2 (its checksum is of format 1)",
        "       UNPROTECTED_TAIL 2 rows",
        "NOT VERIFIED: the file has formats that this version does not know; use the newest muster-audit\n",
      ].join("\n"),
    ]);
    const changed = exported((row) => (row.seq === 3 ? { ...row, checksum: "0" } : later(row)));
    const wrong = await run(changed.join(""), args);
    expect([wrong.status, wrong.output]).toEqual([1, expect.stringMatching(/ALTERED row 3[\s\S]*NOT OK\n$/)]);
  });

  it("exits with 1 when the signature was removed from the file and the rest is declared a selection", async () => {
    const rest = lines.filter((_, n) => n !== 1);
    const text = rest
      .join("")
      .replace('"from":1', '"from":null')
      .replace(/"rows":5(.*)"note":"[^"]*"/, '"rows":4$1"note":null');
    expect(text).toContain('"note":null');
    const { status, output } = await run(text, ["--key", signer.text]);
    expect([status, output]).toEqual([1, expect.stringContaining("FILE_CHANGED (it is not signed as a whole)")]);
  });

  it.each([[["--nonsense"]], [["--key", "no key"]], [["more"]]])("exits with 2 for %j", async (args) => {
    expect((await run(lines.join(""), args)).status).toBe(2);
  });

  it("exits with 2 without a file", () => {
    const of = (...args: string[]) => spawnSync(process.execPath, [program, ...args], { encoding: "utf8" }).status;
    expect([of(), of("verify"), of("verify", join(directory, "missing")), of("check", "x"), of("--help")]).toEqual([
      2, 2, 2, 2, 0,
    ]);
  });
});
