const cr = 0x0d;
const lf = 0x0a;
/** Position of the status in "HTTP/1.1 200 OK". */
const statusAt = 9;
const name = "content-length:";
/** Longest line that is held back until it is whole; a length has 16 digits at most, and lists of it are short. */
const maxHeld = 256;

const isFinal = /^HTTP\/1\.\d [2-9]/;
const saysLengthAgain = /\ncontent-length:([^\n]*,|[\s\S]*\ncontent-length:)/i;

/**
 * Removes from the heads of a connection's responses what says the same length again: repeated equal Content-Length
 * lines, and lists of equal values (RFC 9110, section 8.6, lets a recipient accept both). Different lengths stay, for
 * the parser to refuse. Everything else passes byte by byte, as early as it came.
 */
export class ResponseHead {
  /** Beginning of a line that has to be seen whole. */
  #held: Buffer | null = null;
  /** The next byte begins a line. */
  #atLine = true;
  #isFirst = true;
  #isInterim = false;
  #length: string | null = null;
  /** The last head has ended: what follows is its body, or the next response's head. */
  isOver = false;

  /** The bytes for the parser; the chunk itself when nothing is removed from it. */
  take(chunk: Buffer): Buffer {
    if (this.isOver) this.#restart();
    if (this.#isPlain(chunk)) {
      this.isOver = true;
      return chunk;
    }
    const bytes = this.#held === null ? chunk : Buffer.concat([this.#held, chunk]);
    this.#held = null;
    const kept: Buffer[] = [];
    let from = 0;
    let at = 0;
    const replace = (start: number, end: number, by: string): void => {
      kept.push(bytes.subarray(from, start), Buffer.from(by, "latin1"));
      from = end;
    };
    while (at < bytes.length && !this.isOver) {
      const end = bytes.indexOf(lf, at) + 1;
      if (end === 0) {
        if (this.#atLine && this.#isNeeded(bytes, at)) {
          this.#held = bytes.subarray(at);
          replace(at, bytes.length, "");
        } else this.#atLine = false;
        break;
      }
      if (this.#atLine) {
        const other = this.#line(bytes, at, end);
        if (other !== null) replace(at, end, other);
      }
      this.#atLine = true;
      at = end;
    }
    if (kept.length === 0) return bytes;
    kept.push(bytes.subarray(from));
    return Buffer.concat(kept);
  }

  /**
   * Whether a whole head is there in one piece that needs nothing: nearly all do, and this takes a tenth of the time.
   */
  #isPlain(chunk: Buffer): boolean {
    if (!this.#isFirst || this.#held !== null) return false;
    const end = chunk.indexOf("\r\n\r\n");
    if (end < 0) return false;
    const head = chunk.toString("latin1", 0, end);
    return isFinal.test(head) && !saysLengthAgain.test(head);
  }

  /** Whether the beginning of a line is held back until more of it is there. */
  #isNeeded(bytes: Buffer, start: number): boolean {
    if (bytes.length - start === 1 && bytes[start] === cr) return true;
    if (!this.#isFirst) return mayBeLength(bytes, start);
    if (bytes.length - start >= statusAt + 1) this.#status(bytes, start);
    return this.#isFirst && begins(bytes, start, "http/1.");
  }

  /** "HTTP/1.1 1…": the head of another response follows. */
  #status(bytes: Buffer, start: number): void {
    this.#isFirst = false;
    this.#isInterim = bytes[start + statusAt] === 0x31;
  }

  /** What replaces a line; null keeps it. */
  #line(bytes: Buffer, start: number, end: number): string | null {
    const isEmpty = end - start === 1 || (end - start === 2 && bytes[start] === cr);
    if (this.#isFirst) {
      // Empty lines before a status line are allowed (RFC 9112, section 2.2).
      if (!isEmpty) this.#status(bytes, start);
      return null;
    }
    if (isEmpty) {
      if (this.#isInterim) this.#restart();
      else this.isOver = true;
      return null;
    }
    return mayBeLength(bytes, start) ? this.#lengthLine(bytes.toString("latin1", start, end)) : null;
  }

  #lengthLine(line: string): string | null {
    const values = line
      .slice(name.length)
      .split(",")
      .map((value) => value.trim());
    const [length = ""] = values;
    if (!/^\d+$/.test(length) || values.some((value) => value !== length)) return null;
    if (this.#length === length) return "";
    if (this.#length !== null) return null;
    this.#length = length;
    return values.length > 1 ? `${name} ${length}\r\n` : null;
  }

  #restart(): void {
    this.#isFirst = true;
    this.#atLine = true;
    this.#length = null;
    this.isOver = false;
  }
}

/** Whether the line from `start` begins as a Content-Length line, as far as it is there. */
function mayBeLength(bytes: Buffer, start: number): boolean {
  // Most lines differ in their first letter: c or C.
  if (bytes.length > start && (bytes[start] ?? 0) !== 0x63 && bytes[start] !== 0x43) return false;
  if (bytes.length - start > maxHeld && bytes.indexOf(lf, start) < 0) return false;
  return begins(bytes, start, name);
}

/** Whether what is there of a line agrees with this beginning, in any letter case. */
function begins(bytes: Buffer, start: number, beginning: string): boolean {
  return beginning.startsWith(bytes.toString("latin1", start, start + beginning.length).toLowerCase());
}
