import type { ChildProcess } from "node:child_process";
import type { Reading, SystemEvent } from "./event-source.ts";

/** What a line of a log's reader says; `cursor` empty: that of the lines before stays. */
export type ReadLine = { event: SystemEvent | null; cursor: string };

type Following = {
  /** Prints one entry a line. It is killed in the end. */
  child: ChildProcess;
  /** Null for a line that is no entry. */
  parse(line: string): ReadLine | null;
  cursor: string | null;
  take(reading: Reading): Promise<void>;
  signal: AbortSignal;
  /** Whether the program ends once it has printed what there is. */
  mayEnd?: boolean;
};

const readingMax = 500;
/** An entry waits for others for so long. */
const gatherMs = 200;
/** A longer line is left out, whatever it says: it would fill the memory. */
const lineMax = 1024 * 1024;

/**
 * Takes the events of a program that follows a log until its signal aborts, some at a time. Throws when the program
 * ends by itself and may not, with what it said.
 */
export async function followLines({ child, parse, cursor, take, signal, mayEnd = false }: Following): Promise<void> {
  const kill = () => child.kill("SIGKILL");
  signal.addEventListener("abort", kill, { once: true });
  let said = "";
  child.stderr?.on("data", (chunk: Buffer) => {
    said = (said + chunk.toString()).slice(-500);
  });
  let failure: Error | null = null;
  child.on("error", (error) => {
    failure = error;
  });
  let reading: Reading = { events: [], cursor: cursor ?? "" };
  let isNew = false;
  let flushing: Promise<void> | null = null;
  let timer: NodeJS.Timeout | null = null;
  const flush = async () => {
    if (timer) clearTimeout(timer);
    timer = null;
    if (!isNew) return;
    isNew = false;
    const whole = reading;
    reading = { events: [], cursor: whole.cursor };
    await take(whole);
  };
  try {
    for await (const text of linesOf(child.stdout as NodeJS.ReadableStream)) {
      const line = parse(text);
      if (line === null) continue;
      isNew = true;
      if (line.event) reading.events.push(line.event);
      reading.cursor = line.cursor || reading.cursor;
      if (reading.events.length >= readingMax) {
        await flushing;
        await flush();
      }
      timer ??= setTimeout(() => {
        flushing = flush().catch((error: Error) => {
          failure = error;
          kill();
        });
      }, gatherMs);
    }
    await flushing;
    await flush();
  } finally {
    if (timer) clearTimeout(timer);
    kill();
    signal.removeEventListener("abort", kill);
  }
  if (failure) throw failure as Error;
  if (!signal.aborted && !mayEnd) throw new Error(said.trim() || `${child.spawnfile} ended`);
}

/** Lines of a stream, without those that are too long. */
export async function* linesOf(stream: NodeJS.ReadableStream): AsyncGenerator<string> {
  let rest: Buffer[] = [];
  let length = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    let from = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, from)) {
      length += end - from;
      // A character may be in two chunks: they are decoded together.
      if (length <= lineMax) yield Buffer.concat([...rest, chunk.subarray(from, end)]).toString("utf8");
      rest = [];
      length = 0;
      from = end + 1;
    }
    length += chunk.length - from;
    if (length > lineMax) rest = [];
    else if (from < chunk.length) rest.push(chunk.subarray(from));
  }
}
