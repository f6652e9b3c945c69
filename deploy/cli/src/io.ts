import type { Readable, Writable } from "node:stream";

/** What a run of the program reads and writes; tests pass their own. */
export type Io = {
  env: Readonly<Record<string, string | undefined>>;
  stdin: Readable & { isTTY?: boolean };
  stdout: Writable & { isTTY?: boolean };
  stderr: Writable;
};

/** Options that every command takes. */
export type Globals = { url?: string; profile?: string; json?: boolean; yes?: boolean };
