import { randomBytes, scrypt, timingSafeEqual } from "node:crypto";
import { availableParallelism } from "node:os";
import { AppError, gauge } from "@muster/kit";

export type Passwords = {
  /** `scrypt$logN$r$p$salt$hash`, base64. Throws `overloaded` when the queue is full. */
  hash(password: string): Promise<string>;
  /** Compares in the time of a real check even when there is no hash. Throws `overloaded` when the queue is full. */
  verify(password: string, stored: string | null): Promise<boolean>;
  /** Whether a stored hash has weaker parameters than today's. */
  isStale(stored: string): boolean;
};

const r = 8;
const p = 1;
const keyBytes = 32;

/** scrypt (RFC 7914) behind a bounded queue: one check costs 0.4 s of a core at log N 17, so few run at a time. */
export function passwords(options: { logN: number; queueMax: number; concurrency?: number }): Passwords {
  const concurrency = options.concurrency ?? Math.max(1, availableParallelism());
  const waiting: (() => void)[] = [];
  let running = 0;
  const queued = gauge("identity_password_queue", "Password checks waiting or running");
  // A hash nobody knows the password of: unknown users cost the same time as known ones.
  const decoy = `scrypt$${options.logN}$${r}$${p}$${randomBytes(16).toString("base64")}$${randomBytes(keyBytes).toString("base64")}`;

  const derive = async (password: string, salt: Buffer, logN: number): Promise<Buffer> => {
    if (running >= concurrency) {
      if (waiting.length >= options.queueMax) {
        throw new AppError("overloaded", "Too many sign-ins at once", { retryAfterSeconds: 2 });
      }
      await new Promise<void>((resolve) => waiting.push(resolve));
    } else running += 1;
    queued.set(running + waiting.length);
    try {
      return await new Promise<Buffer>((resolve, reject) => {
        const N = 2 ** logN;
        scrypt(password.normalize("NFKC"), salt, keyBytes, { N, r, p, maxmem: 256 * N * r }, (error, key) =>
          error ? reject(error) : resolve(key),
        );
      });
    } finally {
      const next = waiting.shift();
      if (next) next();
      else running -= 1;
      queued.set(running + waiting.length);
    }
  };

  return {
    async hash(password) {
      const salt = randomBytes(16);
      const key = await derive(password, salt, options.logN);
      return `scrypt$${options.logN}$${r}$${p}$${salt.toString("base64")}$${key.toString("base64")}`;
    },
    async verify(password, stored) {
      const [, logN, , , salt = "", hash = ""] = (stored ?? decoy).split("$");
      const key = await derive(password, Buffer.from(salt, "base64"), Number(logN));
      const expected = Buffer.from(hash, "base64");
      return expected.length === key.length && timingSafeEqual(key, expected) && stored !== null;
    },
    isStale: (stored) => Number(stored.split("$")[1]) < options.logN,
  };
}
