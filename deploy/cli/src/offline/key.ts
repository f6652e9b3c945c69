// Offline check of API keys (docs/api-keys.md): reports whether a text has the form and the checksum of a key, without
// a server and without showing more than the prefix.
import { text } from "node:stream/consumers";
import { crc32 } from "node:zlib";

const usage = `Usage: muster-key check [KEY]

Checks form and checksum of an API key, offline. Without KEY the keys are read from standard input, one a line, so that
they stay out of the shell's history. Ends with 0 when all are well-formed, 1 when one is not, 2 on wrong usage.
`;

/** `muster-key`; resolves to the exit code. */
export async function keyProgram([command, ...parameters]: readonly string[]): Promise<number> {
  if (command === "--help" || command === "-h") {
    process.stdout.write(usage);
    return 0;
  }
  const isRight = command === "check" && parameters.length <= 1;
  const keys = isRight ? (parameters.length > 0 ? parameters : linesOf(await text(process.stdin))) : [];
  if (keys.length === 0) {
    process.stderr.write(usage);
    return 2;
  }
  const problems = keys.map(problemOf);
  for (const [index, key] of keys.entries()) {
    const name = key.startsWith("svc_") ? key.slice(0, 12) : "(no key)";
    process.stdout.write(`${name}: ${problems[index] ?? "well-formed"}\n`);
  }
  return problems.some((problem) => problem !== null) ? 1 : 0;
}

/** Why a text cannot be a key, or null. */
function problemOf(key: string): string | null {
  if (!key.startsWith("svc_")) return "does not begin with svc_";
  const [, random, sum] = /^svc_([A-Za-z0-9_-]{26})([A-Za-z0-9_-]{6})$/.exec(key) ?? [];
  if (random === undefined) return "is not svc_ and 32 base64url characters";
  const checksum = Buffer.alloc(4);
  checksum.writeUInt32BE(crc32(random));
  return checksum.toString("base64url") === sum ? null : "has a wrong checksum";
}

function linesOf(input: string): string[] {
  return input
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
}
