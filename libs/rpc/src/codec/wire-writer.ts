import { unusual } from "./unusual.ts";

const startBytes = 64 * 1024;
// Longer texts are written by Node: a loop over their characters costs more.
const shortText = 64;

/** Writes the wire format from the back, so that every length is known when it is written. */
export class WireWriter {
  #bytes = Buffer.allocUnsafeSlow(startBytes);
  #at = startBytes;

  /** Returns a completed message and resets the writer. A buffer that one large message needed is released. */
  finish(): Buffer {
    const message = Buffer.from(this.#bytes.subarray(this.#at));
    this.reset();
    return message;
  }

  reset(): void {
    if (this.#bytes.length > startBytes) this.#bytes = Buffer.allocUnsafeSlow(startBytes);
    this.#at = this.#bytes.length;
  }

  /** How much is written: what a nested message begins with, for `head`. */
  get size(): number {
    return this.#bytes.length - this.#at;
  }

  /** Tag and length before what was written since the size was `since`. */
  head(tag: number, since: number): void {
    this.varint(this.size - since);
    this.varint(tag);
  }

  /** Safe integers from 0 on. */
  varint(value: number): void {
    this.#need(10);
    if (value < 128) {
      this.#bytes[--this.#at] = value;
      return;
    }
    let length = 2;
    for (let rest = value / 16_384; rest >= 1; rest /= 128) length++;
    let at = this.#at - length;
    this.#at = at;
    let rest = value;
    for (; rest > 0xffff_ffff; rest = Math.floor(rest / 128)) this.#bytes[at++] = (rest % 128) | 128;
    for (; rest > 127; rest >>>= 7) this.#bytes[at++] = (rest & 127) | 128;
    this.#bytes[at] = rest;
  }

  /** Negative numbers take ten bytes, and are rare. */
  int32(value: number): void {
    if (!Number.isInteger(value) || value < 0 || value > 0x7fff_ffff) throw unusual;
    this.varint(value);
  }

  int64(value: bigint): void {
    if (typeof value !== "bigint" || value < 0n || value > 0x1f_ffff_ffff_ffffn) throw unusual;
    this.varint(Number(value));
  }

  bool(value: boolean): void {
    if (typeof value !== "boolean") throw unusual;
    this.varint(value ? 1 : 0);
  }

  double(value: number): void {
    if (typeof value !== "number") throw unusual;
    this.#need(8);
    this.#at -= 8;
    this.#bytes.writeDoubleLE(value, this.#at);
  }

  bytes(value: Uint8Array): void {
    if (!(value instanceof Uint8Array)) throw unusual;
    this.#need(value.length);
    this.#at -= value.length;
    this.#bytes.set(value, this.#at);
    this.varint(value.length);
  }

  string(value: string): void {
    if (typeof value !== "string") throw unusual;
    const length = value.length;
    if (length <= shortText && this.#ascii(value, length)) {
      this.varint(length);
      return;
    }
    const size = Buffer.byteLength(value);
    this.#need(size);
    this.#at -= size;
    this.#bytes.write(value, this.#at, size, "utf8");
    this.varint(size);
  }

  #ascii(value: string, length: number): boolean {
    this.#need(length);
    const bytes = this.#bytes;
    const from = this.#at - length;
    for (let index = 0; index < length; index++) {
      const code = value.charCodeAt(index);
      if (code > 127) return false;
      bytes[from + index] = code;
    }
    this.#at = from;
    return true;
  }

  #need(size: number): void {
    if (this.#at >= size) return;
    const written = this.size;
    const larger = Buffer.allocUnsafeSlow(Math.max(this.#bytes.length * 2, written + size));
    this.#bytes.copy(larger, larger.length - written, this.#at);
    this.#bytes = larger;
    this.#at = larger.length - written;
  }
}
