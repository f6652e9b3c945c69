import { spawn } from "node:child_process";
import { setTimeout as delay } from "node:timers/promises";
import { must, totp } from "./tools.mjs";

const commandMs = 120_000;

/**
 * The commands of a page, in order: lines of its code blocks that begin with `$ `, each with the lines that it is said
 * to print: `{ command, printed }`.
 */
export function commandsOf(page) {
  const found = [];
  for (const [, kind, block] of page.matchAll(/^```(\w*)\n([\s\S]*?)^```/gm)) {
    if (kind !== "") continue;
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

/** Members of printed JSON that the page says in full: an output has them. */
const saidOf = (printed) =>
  printed.filter((line) => line.startsWith("{")).flatMap((line) => line.match(/"\w+":"[^"…]+"/g) ?? []);

/** Who follows pages at a cluster: `muster` is what `program` says; what a page told to keep, the next one can use. */
export function readerOf({ program, password, env, cwd }) {
  // At a terminal a reader confirms what asks for it. The programs behind `release` have no such option.
  const muster = `muster() { if [ "$1" = release ]; then ${program} "$@"; else ${program} "$@" --yes; fi; }\n`;
  return { before: muster, kept: new Map(), password, env, cwd };
}

/**
 * Follows a page command by command; resolves to what the commands printed, in order. `restart` does what the page says
 * in a line that starts the cluster.
 */
export async function followPage(reader, page, restart) {
  const outputs = [];
  for (const { command, printed } of commandsOf(page)) {
    const typed = command.replace(/\b[A-Z]{2,}\b/g, (name) => reader.kept.get(name) ?? name);
    if (/^[A-Z]+=\S+$/.test(typed)) {
      reader.before += `${typed}\n`;
      continue;
    }
    if (/\/cli local$/.test(typed)) {
      await restart(typed);
      continue;
    }
    const output = await printedBy(typed, printed, reader);
    outputs.push(output);
    for (const [name, value] of keptOf(printed, output)) {
      must(typeof value === "string" && value !== "", `${command} printed no ${name}: ${output}`);
      reader.kept.set(name, value);
    }
  }
  return outputs;
}

/** What a command prints; where the page says more of it than it prints at first, it is repeated. */
async function printedBy(typed, printed, reader) {
  const lacking = (output) => saidOf(printed).filter((said) => !output.includes(said));
  for (let tries = 0; ; tries++) {
    const output = await typedInto({ ...reader, script: `${reader.before}${typed}` });
    const [missing] = lacking(output);
    if (missing === undefined) return output;
    must(tries < 30, `${typed} does not print ${missing}: ${output}`);
    await delay(1_000);
  }
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
