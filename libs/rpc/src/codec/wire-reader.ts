import { unusual } from "./unusual.ts";

// Longer texts are decoded by themselves: looking at each of their bytes here costs more.
const shortBytes = 64;

/** Reads the wire format from the front. A read past the end is detected at the end of the message. */
export class WireReader {
  at = 0;
  readonly #bytes: Buffer;
  readonly #input: Uint8Array;
  #latin1: string | undefined;

  constructor(input: Uint8Array) {
    this.#input = input;
    this.#bytes = Buffer.isBuffer(input) ? input : Buffer.from(input.buffer, input.byteOffset, input.byteLength);
  }

  get size(): number {
    return this.#bytes.length;
  }

  /** A number of field and wire type: two bytes from field 16 on, and Unusual from field 2,048 on. */
  tag(): number {
    const first = this.#bytes[this.at++] as number;
    if (first < 128) return first;
    const second = this.#bytes[this.at++] as number;
    if (second > 127) throw unusual;
    return (first & 127) | (second << 7);
  }

  /** At most 49 bits, which are exact in a number: what is longer, negative numbers too, is Unusual. */
  varint(): number {
    const bytes = this.#bytes;
    let byte = bytes[this.at++] as number;
    if (byte < 128) return byte;
    let value = byte & 127;
    for (let scale = 128; scale <= 2 ** 42; scale *= 128) {
      byte = bytes[this.at++] as number;
      value += (byte & 127) * scale;
      if (byte < 128) return value;
    }
    throw unusual;
  }

  int32(): number {
    const value = this.varint();
    if (value > 0x7fff_ffff) throw unusual;
    return value;
  }

  int64(): bigint {
    return BigInt(this.varint());
  }

  bool(): boolean {
    return this.varint() !== 0;
  }

  double(): number {
    const from = this.at;
    this.at += 8;
    if (this.at > this.#bytes.length) throw unusual;
    return this.#bytes.readDoubleLE(from);
  }

  /** Where a value that begins with its length ends; it begins at `at`. */
  end(): number {
    const length = this.varint();
    const end = this.at + length;
    if (!(end <= this.#bytes.length)) throw unusual;
    return end;
  }

  /** A view, as the library returns it. */
  bytes(): Uint8Array {
    const end = this.end();
    const from = this.at;
    this.at = end;
    return this.#input.subarray(from, end);
  }

  string(): string {
    const end = this.end();
    const from = this.at;
    this.at = end;
    if (end - from <= shortBytes) {
      let bits = 0;
      for (let at = from; at < end; at++) bits |= this.#bytes[at] as number;
      // A piece of the whole message, which is decoded in one go.
      if (bits < 128) {
        this.#latin1 ??= this.#bytes.toString("latin1");
        return this.#latin1.substring(from, end);
      }
    }
    const text = this.#bytes.toString("utf8", from, end);
    // Perhaps no UTF-8, which the library refuses; or a byte order mark, which it drops.
    if (text.includes("\ufffd") || text.charCodeAt(0) === 0xfeff) throw unusual;
    return text;
  }
}
