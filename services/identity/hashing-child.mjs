// Derives password hashes for src/crypto/hashing-worker.ts. Plain JavaScript beside src and dist, so that it runs the
// same from both.
import { scrypt } from "node:crypto";

process.on("message", ({ id, password, salt, keyBytes, logN, r, p }) => {
  const N = 2 ** logN;
  scrypt(password, salt, keyBytes, { N, r, p, maxmem: 256 * N * r }, (error, key) => {
    if (process.connected) process.send(error ? { id, error: error.message } : { id, key });
  });
});
// A derivation in flight holds up an exit: a signal does not wait for it.
process.on("disconnect", () => process.kill(process.pid, "SIGKILL"));
// The parent decides when this ends, also when Ctrl-C reaches both.
for (const name of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(name, () => undefined);
