// `npm run muster -- <command>`: prepares the checkout. `keys DIR` and `reencrypt` belong to a cluster (src/command.ts), the rest is the
// command line tool (deploy/cli).
import "./check-node.mjs";

const [name, second] = process.argv.slice(2);
const ofTool = new Set(["rotate", "check", "--help", "-h"]);
const isOfCluster = name === "reencrypt" || (name === "keys" && second !== undefined && !ofTool.has(second));

const { prepare } = await import("./prepare.mjs");
prepare({ client: !isOfCluster });
await import(isOfCluster ? "./dist/command.js" : "../cli/dist/main.js");
