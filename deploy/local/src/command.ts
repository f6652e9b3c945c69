import { Problem } from "./problem.ts";
import { reencryptServices } from "./reencrypt-services.ts";

/** What can be done to a cluster that runs. */
const commands: Record<string, () => Promise<void>> = { reencrypt: reencryptServices };

const [name = "", ...rest] = process.argv.slice(2);
const command = Object.hasOwn(commands, name) && rest.length === 0 ? commands[name] : undefined;
if (!command) {
  process.stderr.write(`usage: npm run muster -- <${Object.keys(commands).join("|")}>\n`);
  process.exitCode = 2;
} else {
  try {
    await command();
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
  }
}
