import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import type { ApiReply } from "./api.ts";
import { ship } from "./shipper.ts";
import { openSpool, type Spool } from "./spool.ts";
import { createStopping, type Stopping } from "./stopping.ts";

let folder: string;
let spool: Spool;
let stopping: Stopping;
let sent: { texts: string[]; key: string | undefined }[];
let dropped: string[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "muster-ship-"));
  spool = openSpool(folder, 64 * 1024 * 1024);
  [sent, dropped, stopping] = [[], [], createStopping()];
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const replyOf = (status: number, code = "", details?: object): ApiReply => ({
  status,
  code,
  retryAfterMs: null,
  body: { code, details },
});

/** Ships until nothing is left; `answer` is the platform. */
async function shipAll(answer: (texts: string[]) => ApiReply): Promise<string[]> {
  const stored: string[] = [];
  await ship(
    {
      stopping,
      random: () => 0,
      refused: (count, reason) => dropped.push(`${count} ${reason}`),
      async call(_method, _path, body, key) {
        const texts = (body as { logs: { text: string }[] }).logs.map((each) => each?.text ?? "null");
        sent.push({ texts, key });
        const reply = answer(texts);
        if (reply.status === 201) stored.push(...texts);
        return reply;
      },
    },
    { spool, method: "POST", path: "/logs", member: "logs" },
  );
  return stored;
}

const spooled = (...texts: string[]) => spool.append([...texts, "end"].map((text) => JSON.stringify({ text })));

describe("what is shipped", () => {
  it("is repeated under the same key until it was accepted", async () => {
    spooled("1", "2");
    let tries = 0;
    const stored = await shipAll((texts) => {
      if (texts.includes("end")) stopping.stop();
      return replyOf(tries++ < 2 ? 503 : 201);
    });
    expect(stored).toEqual([]);
    expect(spool.next(10, 1000)?.lines).toHaveLength(3);
    stopping = createStopping();
    await shipAll(() => {
      stopping.stop();
      return replyOf(201);
    });
    expect(new Set(sent.map(({ key }) => key)).size).toBe(1);
    expect(spool.next(10, 1000)).toBeNull();
  });

  it("is sent again under the same key when the disk does not take that it was sent", async () => {
    spooled("1", "2");
    const next = spool.next.bind(spool);
    let failures = 2;
    spool.next = (...args) => {
      const batch = next(...args);
      const done = (count?: number) => {
        if (failures-- > 0) throw new Error("ENOSPC: no space left on device");
        batch?.done(count);
        stopping.stop();
      };
      return batch && { ...batch, done };
    };
    await shipAll(() => replyOf(201));
    expect(sent).toHaveLength(3);
    expect(new Set(sent.map(({ key }) => key)).size).toBe(1);
  });

  it("counts the entries that the platform refuses beside those that it stores", async () => {
    spooled("1", "bad", "3");
    await shipAll(() => {
      stopping.stop();
      return { ...replyOf(201), body: { received: 3, refused: [{ index: 1, errors: { message: ["no"] } }] } };
    });
    expect(dropped).toEqual(["1 validation_failed"]);
    expect(spool.next(10, 1000)).toBeNull();
  });

  it("goes on without the entries that the platform refuses by their index", async () => {
    spooled("1", "bad", "3", "bad", "5");
    const stored = await shipAll((texts) => {
      const bad = texts.flatMap((text, at) => (text === "bad" ? [[`logs.${at}.message`, ["no"]]] : []));
      if (bad.length > 0) return replyOf(400, "validation_failed", { fieldErrors: Object.fromEntries(bad) });
      if (texts.includes("end")) stopping.stop();
      return replyOf(201);
    });
    expect(stored).toEqual(["1", "3", "5", "end"]);
    expect(dropped).toEqual(["1 validation_failed", "1 validation_failed"]);
  });

  it("is halved when it is too large, and a single entry that stays so is dropped", async () => {
    spooled("1", "2", "huge", "4");
    const stored = await shipAll((texts) => {
      if (texts.includes("huge") || texts.length > 2) return replyOf(413, "payload_too_large");
      if (texts.includes("end")) stopping.stop();
      return replyOf(201);
    });
    expect(stored).toEqual(["1", "2", "4", "end"]);
    expect(dropped).toEqual(["1 payload_too_large"]);
  });
});
