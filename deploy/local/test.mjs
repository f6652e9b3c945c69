// `npm test`: prepares the checkout, then runs jest with the arguments given; ends with its status.
import "./check-node.mjs";

const { prepare } = await import("./prepare.mjs");
const { runJest } = await import("./jest/run.mjs");
prepare({ client: true });
runJest(process.argv.slice(2));
