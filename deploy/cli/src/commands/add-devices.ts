import { setTimeout as delay } from "node:timers/promises";
import type { MusterClient } from "@muster/client";
import { connect } from "../connection.ts";
import { done, exits, Failure, wrongUsage } from "../failure.ts";
import type { Globals, Io } from "../io.ts";

export type AddOptions = Globals & { org?: string; site?: string; count: string; wait: string };

/** A new key has its default life; a wait beyond it is in vain. */
const waitMaxSeconds = 3_600;
const pollMs = 1_000;

/** The line that installs the agent, by system. It holds no key: the installer asks for it. */
export function lines(url: string): [string, string][] {
  return [
    ["Linux, macOS", `curl -fsSL ${url}/install.sh | sudo sh`],
    ["Windows", `irm ${url}/install.ps1 | iex`],
  ];
}

/**
 * Makes an enrollment key, shows the line that installs the agent on each system, and names the machines that joined
 * with that key. Throws a Failure with the likely causes when none did in time.
 */
export async function addDevices(io: Io, options: AddOptions): Promise<void> {
  const { muster, url } = connect(io, options, ["POST /api/v1/enrollment-keys"]);
  const [count, seconds] = [whole("--count", options.count, 10_000), whole("--wait", options.wait, waitMaxSeconds)];
  const body = { name: "muster devices add", maxUsage: count, ...ownerOf(options) };
  const { id, key } = await done(muster.POST("/api/v1/enrollment-keys", { body }));
  const say = (text: string) => void (options.json ? io.stderr : io.stdout).write(`${text}\n`);
  say("On the machine:\n");
  for (const [system, line] of lines(url)) say(`  ${system.padEnd(13)} ${line}`);
  say(`\nIt asks for the enrollment key: ${key}\n`);
  const joined = await waitFor(muster, id, count, seconds, (device) => {
    if (!options.json) say(`${device.hostname} has joined: ${device.status}, device ${device.id}`);
  });
  if (options.json) io.stdout.write(`${JSON.stringify(joined, null, 2)}\n`);
  if (joined.length === 0) throw new Failure(exits.failed, causes(url, seconds));
}

function ownerOf({ org, site }: AddOptions): { orgId?: string; siteId?: string } {
  return { ...(org ? { orgId: org } : {}), ...(site ? { siteId: site } : {}) };
}

type Joined = { id: string; hostname: string; os: string; status: string };

async function waitFor(
  muster: MusterClient,
  enrollmentKeyId: string,
  count: number,
  seconds: number,
  onJoined: (device: Joined) => void,
): Promise<Joined[]> {
  const endsMs = performance.now() + seconds * 1_000;
  const joined = new Map<string, Joined>();
  for (;;) {
    const query = { enrollmentKeyId, limit: "100" };
    const { data } = await done(muster.GET("/api/v1/devices", { params: { query } }));
    for (const { id, hostname, os, status } of data) {
      if (joined.has(id)) continue;
      joined.set(id, { id, hostname, os, status });
      onJoined({ id, hostname, os, status });
    }
    if (joined.size >= Math.min(count, 100) || performance.now() >= endsMs) return [...joined.values()];
    await delay(pollMs);
  }
}

function whole(name: string, text: string, max: number): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= 1 && value <= max) return value;
  throw wrongUsage(`${name} takes a whole number from 1 to ${max}, not "${text}"`);
}

const causes = (url: string, seconds: number) =>
  `no machine has joined within ${seconds} s. The likely causes:
  1. The machine does not reach ${url}: \`curl ${url}/health\` there; a proxy is named by HTTPS_PROXY.
  2. No agent is promoted for its system: \`muster get agent-versions\`.
  3. The key was mistyped, or has expired: \`sudo muster-agent enroll\` there asks for it again.
\`sudo muster-agent doctor\` on the machine says which one it is.`;
