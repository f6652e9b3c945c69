import { spawn } from "node:child_process";
import { must, totp } from "./tools.mjs";

const commandMs = 120_000;

/**
 * The commands of a page, in order: lines of its code blocks that begin with `$ `, each with the lines that it is said
 * to print: `{ command, printed }`.
 */
export function commandsOf(page) {
  const found = [];
  for (const [, block] of page.matchAll(/^```\n([\s\S]*?)^```/gm)) {
    for (const part of block.split(/^\$ /m).slice(1)) {
      const [, command, printed] = /^((?:.*\\\n)*.*)\n?([\s\S]*)$/.exec(part);
      found.push({ command, printed: printed.split("\n").filter(Boolean) });
    }
  }
  return found;
}

/**
 * What a reader keeps of an output: where the page says `the PARTNER below`, what stands there in the line that begins
 * alike, or the fields of JSON in their order.
 */
export function keptOf(printed, output) {
  const kept = new Map();
  for (const line of printed) {
    const names = [...line.matchAll(/\bthe ([A-Z]{2,})\b/g)].map(([, name]) => name);
    if (names.length === 0) continue;
    const [word] = line.split(/[\s"]+/, 1);
    const isJson = line.startsWith("{");
    const fields = isJson ? [...line.matchAll(/"(\w+)":/g)].map(([, field]) => field) : [];
    const values = isJson ? fields.map((field) => JSON.parse(output)[field]) : [rowOf(output, word)];
    for (const [at, name] of names.entries()) kept.set(name, values[at]);
  }
  return kept;
}

const rowOf = (output, word) =>
  output
    .split("\n")
    .map((line) => line.split(/\s+/))
    .find(([first]) => first === word)?.[1];

/**
 * Follows docs/first-steps.md as its reader does, command by command, at a cluster. `muster` is what `program` says;
 * resolves to what the commands printed, in order.
 *
 * @param {{ page: string, program: string, password: string, env: object, cwd: string }} reader
 */
export async function followFirstSteps({ page, program, password, env, cwd }) {
  const kept = new Map();
  // At a terminal a reader confirms what asks for it.
  let before = `muster() { ${program} "$@" --yes; }\n`;
  const outputs = [];
  for (const { command, printed } of commandsOf(page)) {
    const typed = command.replace(/\b[A-Z]{2,}\b/g, (name) => kept.get(name) ?? name);
    if (/^[A-Z]+=\S+$/.test(typed)) {
      before += `${typed}\n`;
      continue;
    }
    const output = await typedInto({ script: `${before}${typed}`, password, env, cwd });
    outputs.push(output);
    for (const [name, value] of keptOf(printed, output)) {
      must(typeof value === "string" && value !== "", `${command} printed no ${name}: ${output}`);
      kept.set(name, value);
    }
  }
  return outputs;
}

/** Runs what was typed; answers with the password and, where a secret of an app is shown, its code. */
async function typedInto({ script, password, env, cwd }) {
  const child = spawn("sh", ["-euc", script], { env, cwd, stdio: ["pipe", "pipe", "pipe"], timeout: commandMs });
  let [output, shown] = ["", ""];
  child.stdout.on("data", (chunk) => {
    output += chunk;
  });
  child.stderr.on("data", (chunk) => {
    const before = shown;
    shown += chunk;
    const [, secret] = /secret +([A-Z2-7]+)\n/.exec(shown) ?? [];
    if (secret !== undefined && !/secret +([A-Z2-7]+)\n/.test(before)) child.stdin.write(`${totp(secret)}\n`);
  });
  child.stdin.on("error", () => undefined);
  child.stdin.write(`${password}\n`);
  const code = await new Promise((end) => child.once("close", end));
  must(code === 0, `${script.split("\n").slice(1).join("\n")} ended with ${code}: ${output}${shown}`);
  return output;
}
