import { execFile } from "node:child_process";
import { createStopping } from "@muster/agent";
import { fieldsOf } from "@muster/kit/agent";
import { type EventSource, type Reading, type SystemEvent, storable } from "./event-source.ts";

/** What is read of Windows; the security log needs the rights of SYSTEM, which the service has. */
const channels = ["System", "Application", "Security"];
const pageMax = 100;
const pollMs = 5_000;
const queryMs = 20_000;
/** Of one page. An event has at most 64 KiB. */
const outputBytesMax = 32 * 1024 * 1024;
const eventMax = 256 * 1024;

/** `Level` of System (winmeta.xml): 0 log always, 1 critical, 2 error, 3 warning, 4 information, 5 verbose. */
const levels = ["info", "critical", "error", "warning", "info", "info"] as const;
/** Keyword `win:AuditFailure`: a refused logon is of level 0, too. */
const auditFailure = 0x10000000000000n;

/** Position in each channel: its last `EventRecordID`. */
type Positions = Record<string, number>;

/**
 * The events of `wevtutil qe … /f:RenderedXml`, which are printed one after the other without an element around them.
 * What is no event, or too long, is left out.
 */
export function windowsEventsIn(xml: string): SystemEvent[] {
  const parts = xml.split(/<Event[ >]/).slice(1);
  return parts.flatMap((part) => {
    const end = part.indexOf("</Event>");
    return end >= 0 && end <= eventMax ? (eventOf(part.slice(0, end)) ?? []) : [];
  });
}

const recordIdsIn = (xml: string): number[] =>
  [...xml.matchAll(/<EventRecordID>(\d{1,15})<\/EventRecordID>/g)].map(([, number]) => Number(number));

function eventOf(xml: string): SystemEvent | null {
  const system = elementIn(xml, "System") ?? "";
  const time = new Date(attributeIn(system, "TimeCreated", "SystemTime"));
  const [channel, recordId] = [textIn(system, "Channel"), Number(textIn(system, "EventRecordID"))];
  if (channel === "" || !(recordId > 0) || Number.isNaN(time.getTime())) return null;
  const provider = attributeIn(system, "Provider", "Name");
  const about = {
    eventId: textIn(system, "EventID"),
    computer: textIn(system, "Computer"),
    pid: attributeIn(system, "Execution", "ProcessID"),
    user: attributeIn(system, "Security", "UserID"),
  };
  const details = Object.fromEntries(Object.entries(about).filter(([, value]) => value !== ""));
  return {
    timestamp: time.toISOString(),
    level: levelOf(system),
    category: channel === "Security" ? "security" : channel === "System" ? "system" : "application",
    source: storable(provider || channel, 255),
    eventId: `${channel}/${recordId}`.slice(-100),
    message: storable(messageIn(xml)) || "(empty)",
    details,
  };
}

function levelOf(system: string): SystemEvent["level"] {
  const keywords = /^0x[0-9a-f]{1,16}$/i.exec(textIn(system, "Keywords"))?.[0] ?? "0x0";
  if ((BigInt(keywords) & auditFailure) !== 0n) return "warning";
  return levels[Number(textIn(system, "Level"))] ?? "info";
}

/** The rendered message; where the provider has none, the values of the event. */
function messageIn(xml: string): string {
  const rendered = textIn(elementIn(xml, "RenderingInfo") ?? "", "Message").trim();
  if (rendered !== "") return rendered;
  const data = elementIn(xml, "EventData") ?? elementIn(xml, "UserData") ?? "";
  return [...data.matchAll(/<Data(?: Name=(?:"([^"]*)"|'([^']*)'))?>([^<]*)<\/Data>/g)]
    .map(([, name, other, value]) => (name || other ? `${decoded(name || other || "")}: ` : "") + decoded(value ?? ""))
    .join("\n");
}

/** What is inside the first element of a name; null when there is none. */
function elementIn(xml: string, name: string): string | null {
  const start = new RegExp(`<${name}(?:\\s[^>]*)?>`).exec(xml);
  if (start === null || start[0].endsWith("/>")) return null;
  const from = start.index + start[0].length;
  const end = xml.indexOf(`</${name}>`, from);
  return end < 0 ? null : xml.slice(from, end);
}

const textIn = (xml: string, name: string): string => decoded(elementIn(xml, name) ?? "");

function attributeIn(xml: string, element: string, name: string): string {
  const tag = new RegExp(`<${element}\\s[^>]*>`).exec(xml)?.[0] ?? "";
  const [, double, single] = new RegExp(`\\s${name}=(?:"([^"]*)"|'([^']*)')`).exec(tag) ?? [];
  return decoded(double ?? single ?? "");
}

const entities: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };

function decoded(text: string): string {
  return text.replaceAll(/&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|(\w{2,4}));/gi, (whole, decimal, hex, name) => {
    if (name) return entities[name] ?? whole;
    const code = decimal ? Number(decimal) : Number.parseInt(hex, 16);
    return code <= 0x10ffff ? String.fromCodePoint(code) : "\uFFFD";
  });
}

/** Runs Windows' `wevtutil`. Returns what it printed. */
export type Wevtutil = (args: readonly string[], signal: AbortSignal) => Promise<string>;

const wevtutil: Wevtutil = (args, signal) =>
  new Promise((resolve, reject) => {
    const options = {
      timeout: queryMs,
      maxBuffer: outputBytesMax,
      signal,
      encoding: "buffer",
      windowsHide: true,
    } as const;
    execFile("wevtutil.exe", [...args, "/uni:true"], options, (error, stdout, stderr) => {
      if (error) reject(new Error(stderr.toString("utf16le").trim().slice(0, 500) || error.message));
      else resolve(stdout.toString("utf16le").replace(/^\uFEFF/, ""));
    });
  });

/** The event logs of Windows, read on from the last record of each channel. */
export function windowsEventSource(run: Wevtutil = wevtutil, pauseMs = pollMs): EventSource {
  return {
    name: "windows",
    store: null,
    async follow(cursor, take, signal) {
      const stopping = createStopping();
      signal.addEventListener("abort", stopping.stop, { once: true });
      let positions = cursor === null ? await newest(run, signal) : positionsIn(cursor);
      while (!signal.aborted) {
        const read = await readOn(run, positions, signal);
        if (signal.aborted) return;
        if (read.reading !== null) await take(read.reading);
        positions = read.positions;
        if (!read.isFull) await stopping.pause(pauseMs);
      }
    },
  };
}

/** Events after the positions, oldest first in each channel; `isFull` when there may be more. */
async function readOn(
  run: Wevtutil,
  positions: Positions,
  signal: AbortSignal,
): Promise<{ reading: Reading | null; positions: Positions; isFull: boolean }> {
  const next = { ...positions };
  const events: SystemEvent[] = [];
  const failures: unknown[] = [];
  let isFull = false;
  for (const channel of channels) {
    const query = `/q:*[System[(EventRecordID>${positions[channel] ?? 0})]]`;
    const args = ["qe", channel, query, `/c:${pageMax}`, "/rd:false", "/f:RenderedXml"];
    const xml = await run(args, signal).catch((error: unknown) => {
      failures.push(error);
      return "";
    });
    events.push(...windowsEventsIn(xml));
    // Of those that are no events, too: they would be read for ever.
    const numbers = recordIdsIn(xml);
    next[channel] = Math.max(next[channel] ?? 0, ...numbers);
    isFull ||= numbers.length >= pageMax;
  }
  // One channel may be closed to this user; all of them are a failure.
  if (failures.length === channels.length) throw failures[0];
  const isMoved = channels.some((channel) => next[channel] !== positions[channel]);
  return { reading: isMoved ? { events, cursor: JSON.stringify(next) } : null, positions: next, isFull };
}

/** The last record of each channel: what was written before is not read. */
async function newest(run: Wevtutil, signal: AbortSignal): Promise<Positions> {
  const positions: Positions = {};
  for (const channel of channels) {
    const xml = await run(["qe", channel, "/c:1", "/rd:true", "/f:RenderedXml"], signal).catch(() => "");
    positions[channel] = Math.max(0, ...recordIdsIn(xml));
  }
  return positions;
}

function positionsIn(cursor: string): Positions {
  const stored = Object.entries(fieldsOf(JSON.parse(cursor)));
  return Object.fromEntries(stored.filter((each): each is [string, number] => Number.isSafeInteger(each[1])));
}
