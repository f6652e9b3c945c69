import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";

/** The account of servers whose configuration names none. */
const globalAccount = "$G";

/**
 * Moves the streams that a stopped server keeps in the global account, each into the account of its name
 * (deploy/nats/permissions.conf), with consumers and positions; returns their names. AUTH is removed: it keeps an hour,
 * and its owner creates it again, with the repetition that gateways follow. A stream that its new account has already
 * stays where it is.
 */
export function moveStreams(storeDir: string): string[] {
  const accounts = join(storeDir, "jetstream");
  const from = join(accounts, globalAccount, "streams");
  if (!existsSync(from)) return [];
  rmSync(join(from, "AUTH"), { recursive: true, force: true });
  const moved: string[] = [];
  for (const stream of readdirSync(from)) {
    const to = join(accounts, stream, "streams", stream);
    if (existsSync(to)) continue;
    mkdirSync(join(accounts, stream, "streams"), { recursive: true });
    renameSync(join(from, stream), to);
    moved.push(stream);
  }
  return moved;
}
