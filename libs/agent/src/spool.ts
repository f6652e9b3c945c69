import {
  closeSync,
  fsyncSync,
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
  readonly isFull: boolean;
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
export function openSpool(folder: string, bytesMax: number): Spool {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const pathOf = (segment: number) => join(folder, `${String(segment).padStart(10, "0")}.jsonl`);
  const headPath = join(folder, "head.json");
  let segments = readdirSync(folder)
    .map((name) => Number(/^(\d{10})\.jsonl$/.exec(name)?.[1]))
    .filter((each) => each > 0)
    .sort((a, b) => a - b);
  const sizes = new Map(segments.map((each) => [each, statSync(pathOf(each)).size]));
  let head = readHead(headPath);
  let dropped = 0;
  let cached: { segment: number; bytes: Buffer } | null = null;
  if (head.segment < (segments[0] ?? 0)) head = { segment: segments[0] ?? 0, offset: 0 };
  // A crash may have left half a line at the end: a new file follows it.
  let tail = { segment: (segments.at(-1) ?? head.segment) + 1, fd: -1 };

  const remove = (segment: number) => {
    rmSync(pathOf(segment), { force: true });
    sizes.delete(segment);
    segments = segments.filter((each) => each !== segment);
  };

  const storeHead = (position: Position) => {
    writeFileSync(`${headPath}.new`, JSON.stringify(position), { mode: 0o600, flush: true });
    renameSync(`${headPath}.new`, headPath);
    head = position;
  };

  const waiting = () => {
    let bytes = 0;
    for (const [segment, size] of sizes) if (segment >= head.segment) bytes += size;
    return bytes - (sizes.has(head.segment) ? head.offset : 0);
  };

  const dropOldest = () => {
    const [oldest] = segments;
    if (oldest === undefined) return;
    if (oldest === tail.segment) rotate();
    const from = oldest === head.segment ? head.offset : 0;
    dropped += linesOf(readFileSync(pathOf(oldest)).subarray(from)).length;
    remove(oldest);
    storeHead({ segment: segments[0] ?? tail.segment, offset: 0 });
  };

  const rotate = () => {
    if (tail.fd >= 0) closeSync(tail.fd);
    tail = { segment: tail.segment + 1, fd: -1 };
  };

  const openTail = () => {
    tail.fd = openSync(pathOf(tail.segment), "ax", 0o600);
    segments.push(tail.segment);
    sizes.set(tail.segment, 0);
    const own = openSync(folder, "r");
    fsyncSync(own);
    closeSync(own);
  };

  return {
    get bytes() {
      return waiting();
    },
    get isFull() {
      return waiting() >= bytesMax - segmentBytes;
    },
    takeDropped() {
      const count = dropped;
      dropped = 0;
      return count;
    },
    append(lines) {
      if (lines.length === 0) return;
      const bytes = Buffer.from(`${lines.join("\n")}\n`);
      while (segments.length > 0 && waiting() + bytes.length > bytesMax) dropOldest();
      if (tail.fd >= 0 && (sizes.get(tail.segment) ?? 0) + bytes.length > segmentBytes) rotate();
      if (tail.fd < 0) openTail();
      writeSync(tail.fd, bytes);
      fsyncSync(tail.fd);
      sizes.set(tail.segment, (sizes.get(tail.segment) ?? 0) + bytes.length);
      if (cached?.segment === tail.segment) cached = null;
    },
    next(linesMax, limit) {
      for (;;) {
        const segment = segments.find((each) => each >= head.segment);
        if (segment === undefined) return null;
        const offset = segment === head.segment ? head.offset : 0;
        cached = cached?.segment === segment ? cached : { segment, bytes: readFileSync(pathOf(segment)) };
        const found = linesOf(cached.bytes.subarray(offset), linesMax, limit);
        if (found.length > 0) return batchOf(segment, offset, found);
        if (segment === tail.segment) return null;
        remove(segment);
        storeHead({ segment: segment + 1, offset: 0 });
      }
    },
  };

  function batchOf(segment: number, offset: number, found: readonly Buffer[]): SpoolBatch {
    return {
      lines: found.map((line) => line.toString("utf8")),
      key: `${segment}-${offset}-${found.length}`,
      done(count = found.length) {
        // Dropped meanwhile: there was no room.
        if (!sizes.has(segment)) return;
        const bytes = found.slice(0, count).reduce((sum, line) => sum + line.length + 1, 0);
        storeHead({ segment, offset: offset + bytes });
      },
    };
  }
}

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
