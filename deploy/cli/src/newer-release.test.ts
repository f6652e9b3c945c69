import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { afterAll, expect, it } from "@jest/globals";
import { createMusterClient } from "@muster/client";
import { credentialsOf } from "./credentials.ts";
import { tellNewerRelease } from "./newer-release.ts";

const folder = mkdtempSync(join(tmpdir(), "muster-newer-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const credentials = credentialsOf({ MUSTER_CONFIG_DIR: folder });

/** What is shown where the API answers with this state of the platform. */
async function shown(status: number, body: object) {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const answer = async () => Response.json(body, { status });
  const muster = createMusterClient({ baseUrl: "https://muster.test", apiKey: "svc_x", fetch: answer });
  await tellNewerRelease({ env: {}, stdin, stdout, stderr }, muster, credentials);
  return [String(stdout.read() ?? ""), String(stderr.read() ?? "")];
}

const newer = (version: string, url: string | null) => ({ version: "1.4.0", newerRelease: { version, url } });

it("tells of a newer release once, on standard error", async () => {
  const sentence = "muster: release 1.5.0 is newer than this platform's 1.4.0: https://muster.test/1.5.0\n";
  expect(await shown(200, newer("1.5.0", "https://muster.test/1.5.0"))).toEqual(["", sentence]);
  expect(await shown(200, newer("1.5.0", "https://muster.test/1.5.0"))).toEqual(["", ""]);
  expect(await shown(200, newer("1.6.0", null))).toEqual([
    "",
    "muster: release 1.6.0 is newer than this platform's 1.4.0\n",
  ]);
});

it.each([
  ["there is none", 200, { version: "1.4.0", newerRelease: null }],
  ["the platform is older than the field", 200, { version: "1.4.0" }],
  ["the caller may not see it", 403, { code: "permission_denied", message: "no", requestId: "x" }],
])("says nothing where %s", async (_what, status, body) => {
  expect(await shown(status, body)).toEqual(["", ""]);
});
