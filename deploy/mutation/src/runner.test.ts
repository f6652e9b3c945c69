import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "@jest/globals";

type Reply = { passed: boolean; problem: string | null };
type Runner = { ask(test: string, mutant: number | null, limitMs: number): Promise<Reply>; stop(): void };
const script = "../worker.mjs";
const { Worker } = (await import(script)) as { Worker: new (env: object) => Runner };
const worker = new Worker({});
afterAll(() => worker.stop());

const run = (name: string) => worker.ask(fileURLToPath(new URL(`${name}.test.ts`, import.meta.url)), null, 60_000);

describe("a test file without a mutant", () => {
  it("passes as it does in jest, with a rejection that is handled later, too", async () => {
    expect(await run("handled-later")).toMatchObject({ passed: true, problem: null });
  });

  it("passes after another one", async () => {
    expect(await run("switched")).toMatchObject({ passed: true, problem: null });
  });
});
