import { readFileSync, statSync } from "node:fs";
import { parseArgs } from "node:util";
import { digestOf, type Manifest, openManifest, parseManifest, UpdateRefused } from "@muster/agent";
import { parseVerifier } from "@muster/kit/agent";
import { builtInKeys } from "../build-info.ts";
import { AgentError, exitCodes } from "../exit-codes.ts";

/** Checks a manifest's signature, and a program against it. Prints `version size sha256` of the program. */
export async function verify(args: readonly string[]): Promise<number> {
  const options = { manifest: { type: "string" }, "root-key": { type: "string" } } as const;
  const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true });
  if (!values.manifest) throw new AgentError(exitCodes.usage, "verify needs --manifest FILE");
  const keys = (values["root-key"] ? [values["root-key"]] : builtInKeys).map(parseVerifier);
  const note = readFileSync(values.manifest, "utf8");
  try {
    const manifest = keys.length > 0 ? openManifest(note, keys) : parseManifest(note.split("\n\n")[0] ?? "");
    for (const path of positionals) await checkProgram(path, manifest);
    const trust =
      keys.length > 0 ? `signed by ${keys.map(({ name }) => name).join(" or ")}` : "not verified: development key";
    process.stdout.write(`${manifest.component} ${manifest.version}: ${trust}\n`);
    return exitCodes.ok;
  } catch (error) {
    if (error instanceof UpdateRefused) throw new AgentError(exitCodes.failed, `${error.reason}: ${error.message}`);
    throw error;
  }
}

async function checkProgram(path: string, { artifacts }: Manifest): Promise<void> {
  const { size } = statSync(path);
  const sha256 = await digestOf(path);
  const isNamed = artifacts.some((each) =>
    [each, each.program].some((own) => own?.size === size && own.sha256 === sha256),
  );
  if (!isNamed) throw new UpdateRefused("bad_digest", `${path} is no program of this manifest`);
}
