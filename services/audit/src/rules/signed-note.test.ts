import { describe, expect, it } from "@jest/globals";
import { generateNoteKey, NoteError, noteKeys, openNote, parseVerifier, signNote } from "@muster/kit";
import { checkpointText, parseCheckpoint } from "./checkpoint.ts";
import { exportText, parseExportText, parseLine, renderChain, renderEnd, renderRow } from "./export-line.ts";
import { parseReceipt, receiptText } from "./receipt.ts";

const chainId = "01890000-0000-7000-8000-00000000000a";
const head = "ab".repeat(32);
const at = new Date("2026-03-01T10:00:00.000Z");

describe("signed notes", () => {
  // The example of the C2SP signed-note specification's Go implementation (golang.org/x/mod/sumdb/note).
  const peter = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
  const text =
    "If you think cryptography is the answer to your problem,\n" + "then you don't know what your problem is.\n";
  const note =
    `${text}\n` +
    "— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n";

  it("opens a note signed by another implementation", () => {
    const key = parseVerifier(peter);
    expect(key.text).toBe(peter);
    expect(openNote(note, [key])).toEqual({ text, signers: [key] });
  });

  it("refuses a note with another text, signature or key", () => {
    const key = parseVerifier(peter);
    expect(() => openNote(note.replace("answer", "Answer"), [key])).toThrow("does not hold");
    expect(() => openNote(note.replace("x08go/ZJ", "x08go/ZK"), [key])).toThrow("does not hold");
    expect(() => openNote(note, [noteKeys(generateNoteKey("PeterNeumann")).signer])).toThrow("no known key");
    for (const broken of [
      "",
      text,
      `${text}\n`,
      note.slice(0, -1),
      note.replace("— ", "- "),
      note.replace("\n\n", "\n"),
    ]) {
      expect(() => openNote(broken, [key])).toThrow(NoteError);
    }
    expect(() => parseVerifier(peter.replace("c74f20a3", "c74f20a4"))).toThrow("not its own");
    expect(() => signNote("no newline", noteKeys(generateNoteKey("a")).signer)).toThrow();
  });

  it("verify under every key of the setting, and are signed by the first", () => {
    const [old, fresh] = [generateNoteKey("muster-1"), generateNoteKey("muster-2")];
    const before = signNote("one\n", noteKeys(old).signer);
    const rotated = noteKeys(`${fresh},${old}`);
    expect(openNote(before, rotated.verifiers).signers[0]?.name).toBe("muster-1");
    expect(openNote(signNote("two\n", rotated.signer), rotated.verifiers).signers[0]?.name).toBe("muster-2");
    // An old key may stay as its public half alone.
    const retired = noteKeys(`${fresh},${noteKeys(old).signer.text}`);
    expect(openNote(before, retired.verifiers).text).toBe("one\n");
    expect(() => noteKeys(noteKeys(old).signer.text)).toThrow("private");
  });
});

describe("what is signed", () => {
  const receipt = { chainId, firstSeq: 1, lastSeq: 20, lastChecksum: head, prunedAt: at, archiveDigest: null };
  const checkpoint = { chainId, seq: 42, head, at };

  it("is parsed as it was written, for its own deployment only", () => {
    expect(parseReceipt(receiptText("d", receipt), "d")).toEqual(receipt);
    const archived = { ...receipt, archiveDigest: "cd".repeat(32) };
    expect(parseReceipt(receiptText("d", archived), null)).toEqual(archived);
    expect(parseReceipt(receiptText("d", receipt), "e")).toBeNull();
    expect(parseCheckpoint(checkpointText("d", checkpoint), "d")).toEqual(checkpoint);
    expect(parseCheckpoint(checkpointText("d", checkpoint), "e")).toBeNull();
    expect(parseExportText(exportText("d", 3, head, at), "d")).toEqual({ rows: 3, sha256: head, at });
  });

  it("is never accepted as another kind", () => {
    const texts = [receiptText("d", receipt), checkpointText("d", checkpoint), exportText("d", 3, head, at)];
    const readers = [parseReceipt, parseCheckpoint, parseExportText];
    expect(texts.map((text) => readers.map((read) => read(text, null) !== null))).toEqual([
      [true, false, false],
      [false, true, false],
      [false, false, true],
    ]);
  });
});

describe("export lines", () => {
  const row = {
    entry: {
      id: "01890000-0000-7000-8000-00000000000b",
      chainId,
      orgId: chainId,
      partnerId: null,
      timestamp: at,
      actorType: "user" as const,
      actorId: "01890000-0000-7000-8000-00000000000c",
      actorEmail: "ü@example.com",
      actorName: null,
      actorRole: null,
      actorDepartment: null,
      sessionId: null,
      action: "site.create",
      resourceType: "site",
      resourceId: "01890000-0000-7000-8000-00000000000d",
      resourceName: "=1+1",
      details: { a: [1, { b: "\n" }] },
      ipAddress: null,
      userAgent: null,
      result: "success" as const,
      errorMessage: null,
    },
    seq: 7,
    format: 1,
    personalSalt: Buffer.from("00112233445566778899aabbccddeeff", "hex"),
    personalDigest: null,
    checksum: head,
    prevChecksum: null,
  };

  it("are parsed as they were written", () => {
    expect(parseLine(renderRow(row))).toEqual({ type: "row", ...row });
    const erased = { ...row, personalDigest: head, personalSalt: Buffer.alloc(0) };
    expect(parseLine(renderRow(erased))).toEqual({ type: "row", ...erased });
    const chain = { chainId, headSeq: 7, headChecksum: head, from: 1, checkpoint: "n", copies: ["c"], receipts: ["r"] };
    expect(parseLine(renderChain(chain))).toEqual({ type: "chain", ...chain });
    const end = { rows: 1, truncated: false, keys: ["k"], note: null };
    expect(parseLine(renderEnd(end))).toEqual({ type: "end", ...end });
  });

  it.each(["", "{}", "null", "[]", '{"type":"row"}', '{"type":"chain"}', '{"type":"end"}', "nonsense"])(
    "are not %s",
    (line) => {
      expect(() => parseLine(line)).toThrow();
    },
  );
});
