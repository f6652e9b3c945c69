import { describe, expect, it } from "@jest/globals";
import { until } from "@muster/testing";
import { hashingWorker } from "./hashing-worker.ts";

const derivation = { password: "correct horse battery", salt: Buffer.alloc(16), keyBytes: 32, logN: 10, r: 8, p: 1 };

const isAlive = (pid: number) => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

describe("the hashing process", () => {
  it("ends when it was idle for a while, and the next derivation starts another", async () => {
    const worker = hashingWorker(1, 10);
    const key = await worker.scrypt(derivation);
    const first = worker.pid() ?? 0;
    await until("the process has ended", () => worker.pid() === null && !isAlive(first));
    expect(await worker.scrypt(derivation)).toEqual(key);
    expect(worker.pid()).not.toBe(first);
    worker.close();
  });

  it("stays alive while derivations arrive", async () => {
    const worker = hashingWorker(1, 60_000);
    await worker.scrypt(derivation);
    const first = worker.pid();
    await Promise.all([worker.scrypt(derivation), worker.scrypt(derivation)]);
    expect(worker.pid()).toBe(first);
    worker.close();
  });
});
