import { afterEach, describe, expect, it } from "@jest/globals";
import { createLogger } from "@muster/kit";
import { until } from "@muster/testing";
import { createWatches, credentialName, type Watches } from "./watches.ts";

const log = createLogger("watches-test", "fatal");
/** An hour: what ends before was notified. */
const never = 3_600_000;
let watches: Watches | undefined;
afterEach(() => watches?.close());

type Reply = { name: string; credential: string; answer: () => Promise<boolean>; checked: number; ended: number };

function watched(options: { everyMs?: number; waitMs?: number } = {}) {
  const made = createWatches({ log, everyMs: never, waitMs: never, ...options });
  watches = made;
  const open = (credential: string, answer: () => Promise<boolean> = async () => true): Reply & { stop(): void } => {
    const reply = { name: credential, credential, answer, checked: 0, ended: 0 };
    const { stop } = made.watch({
      credential,
      isAdmitted: () => {
        reply.checked++;
        return reply.answer();
      },
      end: () => {
        reply.ended++;
      },
    });
    return Object.assign(reply, { stop });
  };
  return { watches: made, open };
}
const settled = () => new Promise((resolve) => setImmediate(resolve));
const refused = async () => false;

describe("a long reply", () => {
  it("ends immediately when its credential changes and its caller is no longer admitted; others are not checked", async () => {
    const { watches, open } = watched();
    const [revoked, changed, other] = [open("key a", refused), open("key b"), open("key c", refused)];
    watches.changed("key a");
    watches.changed("key b");
    watches.changed(credentialName("session", "a"));
    await settled();
    expect([revoked, changed, other].map(({ checked, ended }) => [checked, ended])).toEqual([
      [1, 1],
      [1, 0],
      [0, 0],
    ]);
    expect(watches.size).toBe(2);
  });

  it("ends when its caller cannot be verified in time, or not at all", async () => {
    const { watches, open } = watched({ waitMs: 30 });
    const silent = open("key a", () => new Promise(() => {}));
    const failing = open("key b", () => Promise.reject(new Error("away")));
    watches.changed("key a");
    watches.changed("key b");
    await until("both to end", () => silent.ended + failing.ended === 2);
    expect(watches.size).toBe(0);
  });

  it("goes on when its caller is confirmed late, but in time, and is checked for once meanwhile", async () => {
    const { watches, open } = watched();
    let confirm: (isAdmitted: boolean) => void = () => undefined;
    const reply = open(
      "key a",
      () =>
        new Promise((resolve) => {
          confirm = resolve;
        }),
    );
    for (let i = 0; i < 5; i++) watches.changed("key a");
    confirm(true);
    await settled();
    expect([reply.checked, reply.ended]).toEqual([1, 0]);
    reply.answer = refused;
    watches.changed("key a");
    await settled();
    expect([reply.checked, reply.ended]).toEqual([2, 1]);
  });

  it("is verified at intervals, too: no change announces the end of a token's life", async () => {
    const { open } = watched({ everyMs: 10 });
    const reply = open("session a");
    await until("it to be verified", () => reply.checked > 3);
    reply.answer = refused;
    await until("its end", () => reply.ended === 1);
  });

  it("ends with the lease, whoever its caller is, and never twice", async () => {
    const { watches, open } = watched();
    const replies = [open("key a"), open("key a"), open("session b")];
    const stopped = open("key c");
    stopped.stop();
    watches.changed("key a");
    watches.endAll();
    watches.endAll();
    await settled();
    expect(replies.map(({ ended }) => ended)).toEqual([1, 1, 1]);
    expect([stopped.ended, watches.size]).toEqual([0, 0]);
  });
});
