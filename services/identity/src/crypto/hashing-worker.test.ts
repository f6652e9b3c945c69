import { getPriority } from "node:os";
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
    await worker.close();
  });

  it("stays alive while derivations arrive", async () => {
    const worker = hashingWorker(1, 60_000);
    await worker.scrypt(derivation);
    const first = worker.pid();
    await Promise.all([worker.scrypt(derivation), worker.scrypt(derivation)]);
    expect(worker.pid()).toBe(first);
    await worker.close();
  });

  it("has the service's priority: sign-in starves no sooner than other requests", async () => {
    const worker = hashingWorker(1, 60_000);
    await worker.scrypt(derivation);
    expect(getPriority(worker.pid() ?? 0)).toBe(getPriority());
    await worker.close();
  });

  it("is gone when closed, also within a derivation", async () => {
    const worker = hashingWorker(1, 60_000);
    const lost = worker.scrypt({ ...derivation, logN: 20 });
    const refused = expect(lost).rejects.toThrow("Service is temporarily unavailable");
    const pid = worker.pid() ?? 0;
    await worker.close();
    expect(isAlive(pid)).toBe(false);
    await refused;
  });
});
