import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { run } from "../run.ts";

export type Call = { method: string; path: string; query: Record<string, string>; body: string };
type Answer = { status: number; body: object };

/** An API that answers as `answer` says and records what it was asked; `muster` runs the tool against it. */
export async function recordingApi(answer: (call: Call) => Answer) {
  const calls: Call[] = [];
  const server = createServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "", "http://127.0.0.1");
    const query = Object.fromEntries(searchParams);
    const call = { method: request.method ?? "", path: pathname, query, body: await text(request) };
    calls.push(call);
    const { status, body } = answer(call);
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const env = { MUSTER_API_KEY: "svc_x", MUSTER_URL: `http://127.0.0.1:${port}`, MUSTER_CONFIG_DIR: "/nonexistent" };
  return {
    calls,
    async muster(...args: string[]) {
      const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
      const code = await run(args, { env, stdin, stdout, stderr });
      return { code, stdout: String(stdout.read() ?? ""), stderr: String(stderr.read() ?? "") };
    },
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
