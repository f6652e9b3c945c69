import { type FileHandle, open, stat } from "node:fs/promises";
import { basename } from "node:path";
import { createStopping, type EventLog, type EventStore, type LiveEvent } from "@muster/agent";
import { type EventSource, idOf, type SystemEvent, storable } from "./event-source.ts";
import { fits } from "./journal.ts";

type Position = { inode: number; offset: number };

const pollMs = 1_000;
const chunkBytes = 128 * 1024;
/** Bytes at the end of a file that live queries read. */
const tailBytes = 4 * 1024 * 1024;

/** `Nov 26 18:00:01 host sshd[123]: text` (RFC 3164), or with a time in ISO 8601 (RFC 5424). */
const lineForm =
  /^(?:<\d+>)?(\w{3} [ \d]\d \d\d:\d\d:\d\d|\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:?\d\d)) (\S+) ([^:[\s]{1,255})(?:\[(\d+)\])?: (.*)$/;

const levelWords = [
  ["critical", /\b(panic|emerg|alert|crit(ical)?)\b/i],
  ["error", /\b(error|failed|failure|fatal)\b/i],
  ["warning", /\bwarn(ing)?\b/i],
] as const;

/** The event of a line; a line of another form is one of the file's own. */
export function eventOfLine(line: string, file: string, id: string, now: Date): SystemEvent {
  const [, time = "", , source = file, pid, text = line] = lineForm.exec(line) ?? [];
  const level = levelWords.find(([, word]) => word.test(text))?.[0] ?? "info";
  return {
    timestamp: timeOf(time, now).toISOString(),
    level,
    category: /^(sshd|sudo|su|login|auth)/.test(source) ? "security" : source === "kernel" ? "hardware" : "system",
    source: storable(source, 255),
    eventId: id,
    message: storable(text) || "(empty)",
    ...(pid ? { details: { pid } } : {}),
  };
}

/** A time without a year is one of the last twelve months. */
function timeOf(text: string, now: Date): Date {
  const iso = new Date(text);
  if (/^\d{4}/.test(text) && !Number.isNaN(iso.getTime())) return iso;
  const guess = new Date(`${text} ${now.getFullYear()}`);
  if (Number.isNaN(guess.getTime())) return now;
  if (guess.getTime() > now.getTime() + 86_400_000) guess.setFullYear(now.getFullYear() - 1);
  return guess;
}

/** A file to which syslog writes: followed over its rotation, and read by live queries. */
export function syslogFileSource(path: string, hostname: string): EventSource {
  const name = basename(path);
  return {
    name: path,
    store: fileStore(path, hostname),
    async follow(cursor, take, signal) {
      const stopping = createStopping();
      signal.addEventListener("abort", stopping.stop, { once: true });
      let position = cursor === null ? await endOf(path) : (JSON.parse(cursor) as Position);
      while (!signal.aborted) {
        const read = await readOn(path, position);
        if (read.lines.length === 0) await stopping.pause(pollMs);
        const now = new Date();
        const events = read.lines.map(({ text, offset }) =>
          eventOfLine(text, name, idOf(path, String(read.position.inode), String(offset)), now),
        );
        if (events.length > 0 || read.position.inode !== position.inode) {
          await take({ events, cursor: JSON.stringify(read.position) });
        }
        position = read.position;
      }
    },
  };
}

async function endOf(path: string): Promise<Position> {
  const found = await stat(path).catch(() => null);
  return { inode: found?.ino ?? 0, offset: found?.size ?? 0 };
}

type Line = { text: string; offset: number };

/**
 * Whole lines after a position; a file that was truncated begins anew. Of a file that was rotated the rest is read
 * first, where it is now.
 */
async function readOn(path: string, from: Position): Promise<{ lines: Line[]; position: Position }> {
  const rest = await readFile(`${path}.1`, from, (ino) => ino === from.inode);
  if (rest !== null && rest.lines.length > 0) return rest;
  return (await readFile(path, from, () => true)) ?? { lines: [], position: from };
}

/** Null when there is no such file. */
async function readFile(
  path: string,
  from: Position,
  isWanted: (inode: number) => boolean,
): Promise<{ lines: Line[]; position: Position } | null> {
  const file = await open(path, "r").catch(() => null);
  if (file === null) return null;
  try {
    const { ino, size } = await file.stat();
    if (!isWanted(ino)) return null;
    const isSame = ino === from.inode && size >= from.offset;
    const offset = isSame ? from.offset : 0;
    // Mostly there is nothing new.
    if (size === offset) return { lines: [], position: { inode: ino, offset } };
    const lines = await linesAt(file, offset, chunkBytes);
    const last = lines.at(-1);
    const next = last === undefined ? offset : last.offset + Buffer.byteLength(last.text, "latin1") + 1;
    return { lines: lines.map(decoded), position: { inode: ino, offset: next } };
  } finally {
    await file.close();
  }
}

/** Read as bytes, so that an offset is one of the file. */
async function linesAt(file: FileHandle, offset: number, bytes: number): Promise<Line[]> {
  const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(bytes), 0, bytes, offset);
  const text = buffer.subarray(0, bytesRead).toString("latin1");
  const end = text.lastIndexOf("\n");
  // A line that is longer than what is read at once is cut.
  if (end < 0) return bytesRead === bytes ? [{ text, offset }] : [];
  let at = offset;
  return text
    .slice(0, end)
    .split("\n")
    .map((line) => {
      const own = { text: line, offset: at };
      at += line.length + 1;
      return own;
    });
}

const decoded = ({ text, offset }: Line): Line => ({ text: Buffer.from(text, "latin1").toString("utf8"), offset });

const liveLevel = { info: "information", warning: "warning", error: "error", critical: "critical" } as const;

function fileStore(path: string, hostname: string): EventStore {
  const name = basename(path);
  const newest = async (): Promise<LiveEvent[]> => {
    const file = await open(path, "r").catch(() => null);
    if (file === null) return [];
    try {
      const { size } = await file.stat();
      const from = Math.max(0, size - tailBytes);
      const lines = (await linesAt(file, from, tailBytes)).slice(from > 0 ? 1 : 0).map(decoded);
      return lines.reverse().map(({ text, offset }) => liveOf(text, offset));
    } finally {
      await file.close();
    }
  };
  const liveOf = (text: string, offset: number): LiveEvent => {
    const { timestamp, level, source, message, category } = eventOfLine(text, name, "", new Date());
    const about = { source, eventId: 0, message, category, user: null, computer: hostname };
    return { recordId: offset, timeCreated: timestamp, level: liveLevel[level], ...about };
  };
  const describe = async (): Promise<EventLog> => {
    const [events, found] = [await newest(), await stat(path).catch(() => null)];
    const lastWriteTime = (found?.mtime ?? new Date(0)).toISOString();
    return { name, displayName: path, recordCount: events.length, maxSize: 0, retentionDays: 0, lastWriteTime };
  };
  const isNamed = (text: string) => text.toLowerCase() === name.toLowerCase();
  return {
    logs: async () => [await describe()],
    log: async (text) => (isNamed(text) ? describe() : null),
    async events(text, filter) {
      if (!isNamed(text)) return null;
      const found = (await newest()).filter((event) => fits(event, filter));
      const from = (filter.page - 1) * filter.limit;
      return { events: found.slice(from, from + filter.limit), total: found.length };
    },
    event: async (text, recordId) =>
      isNamed(text) ? (await newest()).find((event) => event.recordId === recordId) : null,
  };
}
