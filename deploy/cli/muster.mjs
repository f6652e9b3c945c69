#!/usr/bin/env node
// The command line tool of Muster (docs/cli.md). A checkout that was not built yet is built first.
import { existsSync } from "node:fs";

const program = new URL("dist/main.js", import.meta.url);
if (!existsSync(program)) {
  const { prepare } = await import("../local/prepare.mjs");
  prepare({ client: true });
}
await import(program.href);
