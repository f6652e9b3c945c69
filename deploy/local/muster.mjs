// `npm run muster -- <command>`: prepares the checkout, then works on a cluster that `npm start` runs (src/command.ts).
import "./check-node.mjs";

const { prepare } = await import("./prepare.mjs");
prepare();
await import("./dist/command.js");
