// Derives password hashes for src/crypto/hashing-worker.ts, at a lower priority: request handling takes precedence, and
// sign-ins still proceed on a busy machine (nice 19 starves them). Plain JavaScript beside src and dist, so that it
// runs the same from both.
import { scrypt } from "node:crypto";
import { writeFileSync } from "node:fs";
import { constants, setPriority } from "node:os";

// Before the first derivation: on Linux each thread has its own priority, and those of the pool inherit this one's.
setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
try {
  // Where Linux groups processes by session (this one leads a session), priorities count between groups only by this.
  writeFileSync("/proc/self/autogroup", String(constants.priority.PRIORITY_BELOW_NORMAL));
} catch (error) {
  // Not Linux, not grouped, or not allowed: then the priority above is what there is.
  if (!["ENOENT", "EACCES", "EPERM", "EROFS", "EINVAL", "EAGAIN"].includes(error.code)) throw error;
}

process.on("message", ({ id, password, salt, keyBytes, logN, r, p }) => {
  const N = 2 ** logN;
  scrypt(password, salt, keyBytes, { N, r, p, maxmem: 256 * N * r }, (error, key) => {
    if (process.connected) process.send(error ? { id, error: error.message } : { id, key });
  });
});
process.on("disconnect", () => process.exit());
// The parent decides when this ends, also when Ctrl-C reaches both.
for (const name of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(name, () => undefined);
