import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import type { Reading } from "./event-source.ts";
import { unifiedLineOf, unifiedLogSource } from "./unified-log.ts";

/**
 * Members and values are those that Apple's log(1) names for predicates (eventMessage, eventType, messageType, process,
 * subsystem …). Apple prints no line of `--style ndjson` in its documents: this one is a Mac's of `sudo ls`, without
 * its backtrace.
 */
const sudo = {
  timezoneName: "",
  messageType: "Default",
  eventType: "logEvent",
  source: null,
  formatString: "%8s : %s",
  userID: 0,
  activityIdentifier: 0,
  subsystem: "",
  category: "",
  threadID: 1138139,
  senderImageUUID: "6A15F302-EE0B-3EC6-B466-82B675870A4E",
  bootUUID: "ED40187B-8B76-4555-B78A-E4E689E1EF47",
  processImagePath: "/usr/bin/sudo",
  senderImagePath: "/usr/bin/sudo",
  timestamp: "2025-08-09 10:11:55.521570-0400",
  machTimestamp: 5335783484167,
  eventMessage: "admin : TTY=ttys001 ; PWD=/Users/admin ; USER=root ; COMMAND=/bin/ls",
  processImageUUID: "6A15F302-EE0B-3EC6-B466-82B675870A4E",
  traceID: 2298404520722436,
  processID: 51184,
  senderProgramCounter: 366276,
  parentActivityIdentifier: 0,
};
const line = (change: object = {}) => JSON.stringify({ ...sudo, ...change }).replaceAll("/", "\\/");

describe("a line of the unified log", () => {
  it("is an event of the platform, with a number of its own", () => {
    expect(unifiedLineOf(line())).toEqual({
      cursor: "2025-08-09T14:11:55.521Z",
      event: {
        timestamp: "2025-08-09T14:11:55.521Z",
        level: "info",
        category: "security",
        source: "sudo",
        eventId: expect.stringMatching(/^[0-9a-f]{32}$/),
        message: "admin : TTY=ttys001 ; PWD=/Users/admin ; USER=root ; COMMAND=/bin/ls",
        details: { pid: "51184" },
      },
    });
    const idOf = (change: object) => unifiedLineOf(line(change))?.event?.eventId;
    expect(idOf({})).toBe(idOf({ senderProgramCounter: 1 }));
    expect(idOf({})).not.toBe(idOf({ machTimestamp: 5335783484168 }));
  });

  it.each([
    ["Default", "info"],
    ["Info", "info"],
    ["Debug", "info"],
    ["Error", "error"],
    ["Fault", "critical"],
    [7, "info"],
  ])("with messageType %j has level %s", (messageType, level) => {
    expect(unifiedLineOf(line({ messageType }))?.event?.level).toBe(level);
  });

  it.each([
    [{ processImagePath: "/kernel" }, "hardware", "kernel"],
    [{ processImagePath: "" }, "hardware", "kernel"],
    [{ processImagePath: "/System/Library/CoreServices/powerd.bundle/powerd" }, "system", "powerd"],
    [{ processImagePath: "/Applications/Safari.app/Contents/MacOS/Safari" }, "application", "Safari"],
  ])("with %j has category %s and source %s", (change, category, source) => {
    expect(unifiedLineOf(line(change))?.event).toMatchObject({ category, source });
  });

  it.each<[string, string]>([
    ["is the first one of `log stream`", "Filtering the log data using \"subsystem == 'x'\""],
    ["is the last one of `log show`", '{"count":3335,"finished":1}'],
    ["is cut", line().slice(0, 200)],
    ["has no time", line({ timestamp: "now" })],
    ["is no log event", line({ eventType: "signpostEvent" })],
    ["is no object", "[1]"],
    ["is empty", ""],
  ])("is none when it %s", (_name, text) => expect(unifiedLineOf(text)).toBeNull());

  it("is storable, whatever its values are", () => {
    expect(unifiedLineOf(line({ eventMessage: `a\0b${"x".repeat(70_000)}` }))?.event?.message).toHaveLength(65_536);
    expect(unifiedLineOf(line({ eventMessage: { no: "text" }, processID: null }))?.event?.message).toBe("(empty)");
  });

  it("moves the cursor alone when it is the agent's own: it would follow from each post", () => {
    expect(unifiedLineOf(line({ processImagePath: "/opt/muster-agent/current/muster-agent" }))).toEqual({
      event: null,
      cursor: "2025-08-09T14:11:55.521Z",
    });
  });
});

describe("the unified log", () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "muster-unified-"));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  /** Follows a `log` that prints these lines; the stream stays open. Returns what was taken and how it was started. */
  async function followed(lines: { show: string[]; stream: string[] }, cursor: string | null, wanted: number) {
    for (const [name, texts] of Object.entries(lines)) writeFileSync(join(folder, name), `${texts.join("\n")}\n`);
    const started: string[] = [];
    const taken: Reading[] = [];
    const ending = new AbortController();
    const source = unifiedLogSource((args) => {
      started.push(args.join(" "));
      const stays = args[0] === "stream" ? "; exec sleep 1000" : "";
      return spawn("sh", ["-c", `cat '${join(folder, args[0] ?? "")}'${stays}`], { stdio: ["ignore", "pipe", "pipe"] });
    });
    await source.follow(
      cursor,
      async (reading) => {
        taken.push(reading);
        if (taken.flatMap(({ events }) => events).length >= wanted) ending.abort();
      },
      ending.signal,
    );
    return { started, taken, messages: taken.flatMap(({ events }) => events.map(({ message }) => message)) };
  }
  const said = (eventMessage: string, second: number) =>
    line({ eventMessage, timestamp: `2025-08-09 10:12:0${second}.000000-0400` });

  it("is streamed from now on, past lines that are none and one that fills no memory", async () => {
    const stream = [
      "Filtering the log data",
      said("one", 1),
      line({ eventMessage: "x".repeat(2e6) }),
      said("é two", 2),
    ];
    const { started, taken, messages } = await followed({ show: [], stream }, null, 2);
    expect(messages).toEqual(["one", "é two"]);
    expect(taken.at(-1)?.cursor).toBe("2025-08-09T14:12:02.000Z");
    expect(started).toEqual(["stream --level default"]);
  });

  it("is first read from the second of the cursor on", async () => {
    const lines = { show: [said("missed", 1), '{"count":1,"finished":1}'], stream: [said("new", 2)] };
    const { started, messages } = await followed(lines, "2025-08-09T14:11:55.521Z", 2);
    expect(messages).toEqual(["missed", "new"]);
    expect(started).toEqual(["stream --level default", "show --start @1754748715"]);
  });

  it("is read again when it cannot be stored: the failure is the caller's", async () => {
    const source = unifiedLogSource(() => spawn("echo", [line()], { stdio: ["ignore", "pipe", "pipe"] }));
    const take = () => Promise.reject(new Error("the disk is full"));
    await expect(source.follow("2025-08-09T14:11:55.521Z", take, new AbortController().signal)).rejects.toThrow(
      "disk is full",
    );
  });
});
