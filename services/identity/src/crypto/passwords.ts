import { randomBytes, timingSafeEqual } from "node:crypto";
import { availableParallelism } from "node:os";
import { hashingQueue, type Waiting } from "./hashing-queue.ts";
import { hashingWorker } from "./hashing-worker.ts";

export type StoredHash = string | null;

export type Passwords = {
  /**
   * `scrypt$logN$r$p$salt$hash`, base64. Throws `overloaded` when the queue is full, `deadline_exceeded` past the
   * deadline.
   */
  hash(password: string, waiting?: Waiting): Promise<string>;
  /**
   * Compares in the time of a real check even when there is no hash. A function is called for the hash when the check
   * starts; its error ends the check without a derivation. Throws as `hash` does.
   */
  verify(password: string, stored: StoredHash | (() => Promise<StoredHash>), waiting?: Waiting): Promise<boolean>;
  /** Whether a stored hash has weaker parameters than today's. */
  isStale(stored: string): boolean;
  close(): Promise<void>;
};

const r = 8;
const p = 1;
const keyBytes = 32;
/** Estimated duration of a derivation at log N 17 until one was measured. */
const expectedMs = 400;

/**
 * scrypt (RFC 7914) in a bounded queue: one check costs 0.4 s of a core at log N 17, so few run at a time, in a child
 * process of the service's own priority: one of a lower priority starves on a busy machine.
 */
export function passwords(options: { logN: number; queueMax: number; concurrency?: number }): Passwords {
  const concurrency = options.concurrency || Math.max(1, availableParallelism() - 1);
  const worker = hashingWorker(concurrency);
  const queue = hashingQueue({
    concurrency,
    queueMax: options.queueMax,
    expectedMs: expectedMs * 2 ** (options.logN - 17),
  });
  // A hash of an unknown password: unknown users cost the same time as known ones.
  const decoy = `scrypt$${options.logN}$${r}$${p}$${randomBytes(16).toString("base64")}$${randomBytes(keyBytes).toString("base64")}`;

  const derive = (password: string, salt: Buffer, logN: number): Promise<Buffer> =>
    worker.scrypt({ password: password.normalize("NFKC"), salt, keyBytes, logN, r, p });

  return {
    async hash(password, waiting) {
      const salt = randomBytes(16);
      const key = await queue.run(() => derive(password, salt, options.logN), waiting);
      return `scrypt$${options.logN}$${r}$${p}$${salt.toString("base64")}$${key.toString("base64")}`;
    },
    verify: (password, stored, waiting) =>
      queue.run(async () => {
        const storedHash = typeof stored === "function" ? await stored() : stored;
        const [, logN, , , salt = "", hash = ""] = (storedHash ?? decoy).split("$");
        const salted = Buffer.from(salt, "base64");
        const key = await derive(password, salted, Number(logN));
        // A weaker hash would be faster and reveal that its account exists: 2^a + (2^a + … + 2^(b-1)) = 2^b.
        for (let rest = Number(logN); rest < options.logN; rest++) await derive(password, salted, rest);
        const expected = Buffer.from(hash, "base64");
        return expected.length === key.length && timingSafeEqual(key, expected) && storedHash !== null;
      }, waiting),
    isStale: (stored) => Number(stored.split("$")[1]) < options.logN,
    close: () => worker.close(),
  };
}
