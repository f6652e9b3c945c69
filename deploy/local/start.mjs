// `npm start`: prepares the checkout, then runs the cluster in this process (src/main.ts).
import "./check-node.mjs";

const { prepare } = await import("./prepare.mjs");
prepare();
await import("./dist/main.js");
