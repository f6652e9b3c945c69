import { describe, expect, it } from "@jest/globals";
import { aChainRow } from "../testing/chain-row.ts";
import { rewound, syslogFrames, withSent } from "./syslog.ts";

/** Messages as a receiver reads RFC 5425: a length, a space, so many bytes. */
function messagesIn(frames: Buffer): string[] {
  const messages: string[] = [];
  for (let at = 0; at < frames.length; ) {
    const space = frames.indexOf(" ", at);
    const length = Number(frames.toString("ascii", at, space));
    messages.push(frames.toString("utf8", space + 1, space + 1 + length));
    at = space + 1 + length;
  }
  return messages;
}
const { entry } = aChainRow();
const rfc5424 =
  /^<(\d{1,3})>1 (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z|-) ([\x21-\x7e]{1,255}) muster-audit - ([\x21-\x7e]{1,32}) (\[muster@32473(?: \w+="(?:[^"\\\]]|\\["\\\]])*")*\]) \ufeff(\{.*\})$/s;

describe("rows as syslog messages", () => {
  it("have their lengths in bytes, and are messages of RFC 5424 with their ids", () => {
    const rows = [
      aChainRow({ ...entry, resourceName: "ü😀\n" }),
      aChainRow({ ...entry, action: `custom.${"a".repeat(90)}`, result: "denied" }),
    ];
    const messages = messagesIn(syslogFrames(rows, "muster", "muster local"));
    expect(messages).toHaveLength(2);
    messages.forEach((message, n) => {
      const [, priority, , host, name, data, body = ""] = rfc5424.exec(message) ?? [];
      expect([priority, host]).toEqual([n === 0 ? "110" : "108", "musterlocal"]);
      expect(name?.length).toBeLessThanOrEqual(32);
      expect(data).toContain(`id="${entry.id}" seq="${rows[n]?.seq}"`);
      expect(JSON.parse(body)).toMatchObject({ type: "row", seq: rows[n]?.seq, checksum: rows[n]?.checksum });
    });
  });

  it("have no time where a row's is none", () => {
    const [message = ""] = messagesIn(
      syslogFrames([aChainRow({ ...entry, timestamp: new Date(Number.NaN) })], "muster", ""),
    );
    expect(message).toMatch(/^<110>1 - - muster-audit/);
  });
});

describe("a broken connection", () => {
  const now = 1_000_000;
  it.each<[string, { after: number; at: number }[], number]>([
    ["nothing was sent", [], 50],
    ["the last batch is younger than a minute", [{ after: 40, at: now - 59_999 }], 40],
    [
      "two are",
      [
        { after: 30, at: now - 60_000 },
        { after: 40, at: now },
      ],
      30,
    ],
    ["all are older", [{ after: 30, at: now - 60_001 }], 50],
  ])("begins again before what was sent in the last minute: %s", (_, recent, seq) => {
    expect(rewound(recent, 50, now)).toBe(seq);
  });

  it("is kept in mind no longer than that", () => {
    const recent = withSent(
      [
        { after: 1, at: 0 },
        { after: 2, at: 30_000 },
      ],
      { after: 3, at: 60_001 },
    );
    expect(recent.map(({ after }) => after)).toEqual([2, 3]);
  });
});
