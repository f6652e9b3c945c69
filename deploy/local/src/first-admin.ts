import { randomBytes } from "node:crypto";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/**
 * The first administrator's password: kept (0600) only from its making until identity has used it, so that a start that
 * was killed in between can go on; then a marker remembers that it is done and no copy in clear remains.
 */
export type FirstAdmin = {
  /** What identity gets; undefined once done. */
  password: string | undefined;
  /** Whether to show the password: it was made here, not given. */
  generated: boolean;
  done(): void;
};

export function firstAdmin(dataDir: string, chosen: string | undefined): FirstAdmin {
  const marker = join(dataDir, "keys", "first-admin.done");
  const pending = join(dataDir, "keys", "first-admin.pending");
  if (existsSync(marker)) return { password: undefined, generated: false, done: () => undefined };
  if (!chosen && !existsSync(pending)) writeFileSync(pending, readablePassword(), { mode: 0o600 });
  const admin: FirstAdmin = {
    password: chosen ?? readFileSync(pending, "utf8"),
    generated: !chosen,
    done() {
      admin.password = undefined;
      writeFileSync(marker, `${new Date().toISOString()}\n`);
      rmSync(pending, { force: true });
    },
  };
  return admin;
}

/** Five groups of five, 115 bits, without letters that are read for one another. */
export function readablePassword(random: (bytes: number) => Buffer = randomBytes): string {
  const letters = "abcdefghjkmnpqrstuvwxyz23456789";
  const picked: string[] = [];
  while (picked.length < 25) {
    // 248 = 8 × 31: bytes above would favour the first letters.
    for (const byte of random(32)) if (byte < 248 && picked.length < 25) picked.push(letters[byte % 31] as string);
  }
  return picked.join("").replace(/.{5}(?=.)/g, "$&-");
}
