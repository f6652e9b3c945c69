// `npm test`, `npm run test:rest` and `npm run test:all` (first, rest or both): prepares the checkout, then runs the
// part's suites with the arguments given; ends with jest's status.
import "./check-node.mjs";
import { randomInt } from "node:crypto";

const { prepare } = await import("./prepare.mjs");
const { runJest } = await import("./jest/run.mjs");
prepare({ client: true });

const [part, ...args] = process.argv.slice(2);

/** Suites of the first part run samples, the others in full. */
function run(TEST_PART) {
  const { TEST_SEED = String(randomInt(1e6)), ...env } = process.env;
  if (TEST_PART !== "first") return runJest(args, { ...env, TEST_PART });
  console.error(`Samples by the seed ${TEST_SEED}; the same again: TEST_SEED=${TEST_SEED} npm test`);
  return runJest(args, { ...env, TEST_PART, TEST_SEED });
}

let status = 0;
for (const each of part === "all" ? ["first", "rest"] : [part]) status = (await run(each)) || status;
process.exit(status);
