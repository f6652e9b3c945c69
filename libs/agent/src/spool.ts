import {
  closeSync,
  fsyncSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";

export type SpoolBatch = {
  /** One JSON text each, oldest first. */
  lines: string[];
  /** Names the position of the batch: equal for a repeat of the same lines. */
  key: string;
  /** The batch was accepted, or given up: it is removed. `count` of its lines, all by default. */
  done(count?: number): void;
};

export type Spool = {
  /** Bytes that wait. */
  readonly bytes: number;
  /** Whether `append` would store these lines without dropping any; of an empty spool always. */
  hasRoomFor(lines: readonly string[]): boolean;
  /** Lines that were dropped since this was last read, since the spool was full. */
  takeDropped(): number;
  /** Stores lines; they are on the disk when it returns. Drops the oldest file when there is no room. */
  append(lines: readonly string[]): void;
  /** The oldest lines; null when there is none. */
  next(linesMax: number, bytesMax: number): SpoolBatch | null;
};

type Position = { segment: number; offset: number };

const segmentBytes = 2 * 1024 * 1024;

/** Lines that wait to be sent, in append-only files of a folder, at most `bytesMax` of them. */
export const openSpool = (folder: string, bytesMax: number): Spool => new FileSpool(folder, bytesMax);

class FileSpool implements Spool {
  readonly #folder: string;
  readonly #bytesMax: number;
  readonly #headPath: string;
  /** Bytes of each file. */
  readonly #sizes: Map<number, number>;
  /** Numbers of the files, oldest first. */
  #segments: number[];
  #head: Position;
  #tail: { segment: number; fd: number };
  #dropped = 0;
  #cached: { segment: number; bytes: Buffer } | null = null;

  constructor(folder: string, bytesMax: number) {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    this.#folder = folder;
    this.#bytesMax = bytesMax;
    this.#headPath = join(folder, "head.json");
    this.#segments = readdirSync(folder)
      .map((name) => Number(/^(\d{10})\.jsonl$/.exec(name)?.[1]))
      .filter((each) => each > 0)
      .sort((a, b) => a - b);
    this.#sizes = new Map(this.#segments.map((each) => [each, statSync(this.#pathOf(each)).size]));
    const [oldest = 0] = this.#segments;
    const stored = readHead(this.#headPath);
    this.#head = stored.segment < oldest ? { segment: oldest, offset: 0 } : stored;
    // A crash may have left half a line at the end: a new file follows it.
    this.#tail = { segment: (this.#segments.at(-1) ?? this.#head.segment) + 1, fd: -1 };
  }

  get bytes(): number {
    let bytes = 0;
    for (const [segment, size] of this.#sizes) if (segment >= this.#head.segment) bytes += size;
    return bytes - (this.#sizes.has(this.#head.segment) ? this.#head.offset : 0);
  }

  hasRoomFor(lines: readonly string[]): boolean {
    const { bytes } = this;
    return bytes === 0 || bytes + Buffer.byteLength(textOf(lines)) <= this.#bytesMax;
  }

  takeDropped(): number {
    const count = this.#dropped;
    this.#dropped = 0;
    return count;
  }

  append(lines: readonly string[]): void {
    if (lines.length === 0) return;
    const bytes = Buffer.from(textOf(lines));
    while (this.#segments.length > 0 && this.bytes + bytes.length > this.#bytesMax) this.#dropOldest();
    if (this.#tail.fd >= 0 && this.#sizeOf(this.#tail.segment) + bytes.length > segmentBytes) this.#rotate();
    if (this.#tail.fd < 0) this.#openTail();
    const { segment, fd } = this.#tail;
    try {
      // Near the end of a disk a call writes less than it was given, and the next one fails.
      for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at);
      fsyncSync(fd);
    } catch (error) {
      // Lines of a later call must not continue half a line of this one.
      ftruncateSync(fd, this.#sizeOf(segment));
      throw error;
    }
    this.#sizes.set(segment, this.#sizeOf(segment) + bytes.length);
    if (this.#cached?.segment === segment) this.#cached = null;
  }

  next(linesMax: number, bytesMax: number): SpoolBatch | null {
    for (;;) {
      const segment = this.#segments.find((each) => each >= this.#head.segment);
      if (segment === undefined) return null;
      const offset = segment === this.#head.segment ? this.#head.offset : 0;
      const found = linesOf(this.#read(segment).subarray(offset), linesMax, bytesMax);
      if (found.length > 0) return this.#batchOf(segment, offset, found);
      if (segment === this.#tail.segment) return null;
      this.#remove(segment);
      this.#storeHead({ segment: segment + 1, offset: 0 });
    }
  }

  #pathOf(segment: number): string {
    return join(this.#folder, `${String(segment).padStart(10, "0")}.jsonl`);
  }

  #sizeOf(segment: number): number {
    return this.#sizes.get(segment) ?? 0;
  }

  #read(segment: number): Buffer {
    if (this.#cached?.segment !== segment) this.#cached = { segment, bytes: readFileSync(this.#pathOf(segment)) };
    return this.#cached.bytes;
  }

  #remove(segment: number): void {
    rmSync(this.#pathOf(segment), { force: true });
    this.#sizes.delete(segment);
    this.#segments = this.#segments.filter((each) => each !== segment);
  }

  #storeHead(position: Position): void {
    writeFileSync(`${this.#headPath}.new`, JSON.stringify(position), { mode: 0o600, flush: true });
    renameSync(`${this.#headPath}.new`, this.#headPath);
    this.#head = position;
  }

  #dropOldest(): void {
    const [oldest] = this.#segments;
    if (oldest === undefined) return;
    if (oldest === this.#tail.segment) this.#rotate();
    const from = oldest === this.#head.segment ? this.#head.offset : 0;
    this.#dropped += linesOf(readFileSync(this.#pathOf(oldest)).subarray(from)).length;
    this.#remove(oldest);
    this.#storeHead({ segment: this.#segments[0] ?? this.#tail.segment, offset: 0 });
  }

  #rotate(): void {
    if (this.#tail.fd >= 0) closeSync(this.#tail.fd);
    this.#tail = { segment: this.#tail.segment + 1, fd: -1 };
  }

  #openTail(): void {
    const { segment } = this.#tail;
    this.#tail.fd = openSync(this.#pathOf(segment), "ax", 0o600);
    this.#segments.push(segment);
    this.#sizes.set(segment, 0);
    const own = openSync(this.#folder, "r");
    fsyncSync(own);
    closeSync(own);
  }

  #batchOf(segment: number, offset: number, found: readonly Buffer[]): SpoolBatch {
    return {
      lines: found.map((line) => line.toString("utf8")),
      key: `${segment}-${offset}-${found.length}`,
      done: (count = found.length) => {
        // Dropped meanwhile: there was no room.
        if (!this.#sizes.has(segment)) return;
        const bytes = found.slice(0, count).reduce((sum, line) => sum + line.length + 1, 0);
        this.#storeHead({ segment, offset: offset + bytes });
      },
    };
  }
}

const textOf = (lines: readonly string[]): string => `${lines.join("\n")}\n`;

function readHead(path: string): Position {
  try {
    const head: Position | null = JSON.parse(readFileSync(path, "utf8"));
    if (head && Number.isSafeInteger(head.segment) && Number.isSafeInteger(head.offset))
      return { segment: head.segment, offset: head.offset };
  } catch {
    // A new spool, or one whose head is damaged: it begins with what is there. The platform stores a repeat once.
  }
  return { segment: 0, offset: 0 };
}

/** Whole lines at the beginning of these bytes, the first one whatever its length. */
function linesOf(bytes: Buffer, linesMax = Number.POSITIVE_INFINITY, bytesMax = Number.POSITIVE_INFINITY): Buffer[] {
  const lines: Buffer[] = [];
  let total = 0;
  for (let from = 0; lines.length < linesMax; ) {
    const end = bytes.indexOf(10, from);
    if (end < 0) break;
    total += end - from + 1;
    if (lines.length > 0 && total > bytesMax) break;
    lines.push(bytes.subarray(from, end));
    from = end + 1;
  }
  return lines;
}
