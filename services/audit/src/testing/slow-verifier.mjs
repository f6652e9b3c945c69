// A process that verifies with a pause before each page, and saves its position after each: to be killed
// (verifier.test.ts).
import { setTimeout as sleep } from "node:timers/promises";
import { openDatabase } from "@muster/db";
import { createLogger } from "@muster/kit";
import { startVerifier } from "../../dist/jobs/verifier.js";

const log = createLogger("audit-test", "fatal");
const db = openDatabase({ url: process.argv[2], max: 2, name: "audit", log });
const read = async (...query) => {
  await sleep(300);
  return db.read(...query);
};
startVerifier({
  db: { ...db, read },
  log,
  trust: { verifiers: [], deployment: "d" },
  copies: async () => [],
  pollMs: 20,
  saveMs: 0,
});
