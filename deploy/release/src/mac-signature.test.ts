import { createHash } from "node:crypto";
import { beforeAll, expect, it } from "@jest/globals";

let signedIdentifier: (program: Buffer) => string;
beforeAll(async () => {
  const path = "../check/mac-signature.mjs";
  ({ signedIdentifier } = (await import(path)) as { signedIdentifier: typeof signedIdentifier });
});

const page = 4096;
const bigEndian = (...numbers: number[]) => {
  const bytes = Buffer.alloc(4 * numbers.length);
  for (const [index, number] of numbers.entries()) bytes.writeUInt32BE(number, 4 * index);
  return bytes;
};

/** A code directory of all pages, as `codesign --sign -` writes it. */
function codeDirectory(code: Buffer, type: 1 | 2, identifier: string) {
  const digest = type === 1 ? "sha1" : "sha256";
  const pages = Array.from({ length: Math.ceil(code.length / page) }, (_, index) =>
    createHash(digest)
      .update(code.subarray(index * page, (index + 1) * page))
      .digest(),
  );
  const name = Buffer.from(`${identifier}\0`);
  const first = 44 + name.length;
  const slots = Buffer.concat(pages);
  const sizes = Buffer.from([type === 1 ? 20 : 32, type, 0, Math.log2(page), 0, 0, 0, 0]);
  const head = bigEndian(0xfade0c02, first + slots.length, 0x20001, 2, first, 44, 0, pages.length, code.length);
  return Buffer.concat([head, sizes, name, slots]);
}

/** A program of some pages with a signature of the given kinds of digest. */
function signed(kinds: (1 | 2)[], identifier = "com.muster.cli") {
  const code = Buffer.alloc(3 * page + 100, 7);
  const directories = (bytes: Buffer) => kinds.map((kind) => codeDirectory(bytes, kind, identifier));
  let at = 12 + 8 * kinds.length;
  const index = directories(code).map((each, position) => {
    at += each.length;
    return [position === 0 ? 0 : 0x1000, at - each.length];
  });
  code.writeUInt32LE(2, 16);
  for (const [offset, value] of [0x19, 72, 0x1d, 16, code.length, at].entries())
    code.writeUInt32LE(value, [32, 36, 104, 108, 112, 116][offset]);
  const head = bigEndian(0xfade0cc0, at, kinds.length, ...index.flat());
  return Buffer.concat([code, head, ...directories(code)]);
}

it("a Mac program is compared with its signature, page by page", () => {
  expect(signedIdentifier(signed([2]))).toBe("com.muster.cli");
  expect(signedIdentifier(signed([1, 2], "com.muster.agent"))).toBe("com.muster.agent");
  for (const at of [200, page + 1, 3 * page + 99]) {
    const changed = signed([1, 2]);
    changed[at] = 8;
    expect(() => signedIdentifier(changed)).toThrow(`the page at byte ${Math.floor(at / page) * page} is not as it`);
  }
});

it("a Mac program without a whole signature by SHA-256 is found", () => {
  const unsigned = signed([2]);
  unsigned.writeUInt32LE(0x1e, 104);
  expect(() => signedIdentifier(unsigned)).toThrow("not signed");
  expect(() => signedIdentifier(signed([1]))).toThrow("no page is signed by its SHA-256");
  expect(() => signedIdentifier(Buffer.concat([signed([2]), Buffer.alloc(1)]))).toThrow("not at the program's end");
});
