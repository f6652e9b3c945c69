import { describe, expect, it } from "@jest/globals";
import { batched } from "./batched.ts";

const tick = () => new Promise((resolve) => setImmediate(resolve));

describe("batched lookups", () => {
  it("in one tick go in one call, and each gets its own answer or refusal", async () => {
    const calls: (readonly number[])[] = [];
    const request = batched<number, number>(
      async (questions) => {
        calls.push(questions);
        return questions.map((n) => (n % 2 === 0 ? n * 10 : new Error(`odd ${n}`)));
      },
      { max: 10, callsMax: 1 },
    );
    const answers = await Promise.allSettled([0, 1, 2, 3].map(request));
    expect(calls).toEqual([[0, 1, 2, 3]]);
    expect(answers.map((a) => (a.status === "fulfilled" ? a.value : String(a.reason)))).toEqual([
      0,
      "Error: odd 1",
      20,
      "Error: odd 3",
    ]);
  });

  it("go in calls of bounded size, and wait while the maximum number of calls is in flight", async () => {
    const open: { questions: readonly number[]; answer(): void }[] = [];
    const request = batched<number, number>(
      (questions) => new Promise((resolve) => open.push({ questions, answer: () => resolve(questions) })),
      { max: 2, callsMax: 2 },
    );
    const all = Promise.all([1, 2, 3, 4, 5].map(request));
    await tick();
    expect(open.map(({ questions }) => questions)).toEqual([
      [1, 2],
      [3, 4],
    ]);
    open[1]?.answer();
    await tick();
    expect(open[2]?.questions).toEqual([5]);
    for (const { answer } of open) answer();
    expect(await all).toEqual([1, 2, 3, 4, 5]);
  });

  it("all fail with the call's error, and the next are sent again", async () => {
    let fails = true;
    const request = batched<number, number>(
      async (questions) => {
        if (fails) throw new Error("away");
        return questions;
      },
      { max: 10, callsMax: 1 },
    );
    await expect(Promise.all([request(1), request(2)])).rejects.toThrow("away");
    fails = false;
    expect(await request(3)).toBe(3);
  });
});
