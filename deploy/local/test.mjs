// `npm test`: prepares the checkout, then runs jest with the arguments given; ends with its status.
import "./check-node.mjs";

const { spawn } = await import("node:child_process");
const { join } = await import("node:path");
const { jestFlags } = await import("./jest/flags.mjs");
const { prepare, root } = await import("./prepare.mjs");
prepare({ client: true });
const jest = join(root, "node_modules", "jest", "bin", "jest.js");
const args = [...jestFlags, jest, ...process.argv.slice(2)];
const child = spawn(process.execPath, args, { cwd: root, stdio: "inherit" });
// jest stops its database on these; this process must outlive it to pass its status on.
for (const name of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(name, () => child.kill(name));
child.once("exit", (code, signal) => process.exit(code ?? (signal === "SIGINT" ? 130 : 1)));
