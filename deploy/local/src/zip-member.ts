import { inflateRawSync } from "node:zlib";

/** A file of a zip archive, such as a wheel, by its central directory (APPNOTE 4.3.12). Throws where it has none. */
export function zipMember(zip: Buffer, wanted: string): Buffer {
  const end = zip.lastIndexOf(Buffer.from("504b0506", "hex"));
  if (end < 0) throw new Error("not a zip archive");
  let at = zip.readUInt32LE(end + 16);
  for (let left = zip.readUInt16LE(end + 10); left > 0; left--) {
    const [nameBytes, extra, comment] = [
      zip.readUInt16LE(at + 28),
      zip.readUInt16LE(at + 30),
      zip.readUInt16LE(at + 32),
    ];
    const name = zip.toString("utf8", at + 46, at + 46 + nameBytes);
    if (name === wanted) {
      const packed = zip.readUInt32LE(at + 20);
      const local = zip.readUInt32LE(at + 42);
      const start = local + 30 + zip.readUInt16LE(local + 26) + zip.readUInt16LE(local + 28);
      const bytes = zip.subarray(start, start + packed);
      return zip.readUInt16LE(at + 10) === 0 ? bytes : inflateRawSync(bytes);
    }
    at += 46 + nameBytes + extra + comment;
  }
  throw new Error(`the archive has no ${wanted}`);
}
