import { spawn } from "node:child_process";

/** Runs a service's compiled program with that environment alone until it ends; SIGTERM ends it once it is ready. */
export async function runProcess(
  program: string,
  env: Record<string, string>,
): Promise<{ status: number | null; output: string }> {
  const child = spawn(process.execPath, [program], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { PATH: process.env.PATH, ...env },
  });
  let output = "";
  const collect = (chunk: Buffer) => {
    output += chunk.toString();
    if (output.includes('"msg":"ready"')) child.kill("SIGTERM");
  };
  child.stdout.on("data", collect);
  child.stderr.on("data", collect);
  const status = await new Promise<number | null>((resolve) => child.once("close", resolve));
  return { status, output };
}
