// `npm run muster -- <command>`: prepares the checkout. `keys DIR`, `reencrypt`, `restored` and `certificates` belong
// to a cluster (src/command.ts), the rest is the command line tool (deploy/cli).
import "./check-node.mjs";

const [name, second] = process.argv.slice(2);
const ofTool = new Set(["rotate", "check", "--help", "-h"]);
const ofCluster = new Set(["reencrypt", "restored", "certificates"]);
const isOfCluster = ofCluster.has(name) || (name === "keys" && second !== undefined && !ofTool.has(second));

const { prepare } = await import("./prepare.mjs");
prepare({ client: !isOfCluster });
await import(isOfCluster ? "./dist/command.js" : "../cli/dist/main.js");
