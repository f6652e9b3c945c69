import { text } from "node:stream/consumers";
import { type Egress, guardedRequest } from "@muster/egress";
import { isLocation } from "@muster/kit";
import { z } from "zod";
import { compareVersions, parseVersion, versionMax } from "../rules/version.ts";

const bytesMax = 64 * 1024;
const totalMs = 15_000;

const feed = z.object({
  version: z.string().max(versionMax),
  url: z.string().max(2_000).refine(isLocation).optional(),
});

/** A release of the platform itself. */
export type PlatformRelease = { version: string; url?: string };

/**
 * The release that a feed names, where it is newer than the given version, else null. Throws EgressRefused,
 * EgressLimit, what the connection failed with, or an error that says what is wrong with the answer.
 */
export async function newerThan(own: string, { egress, url }: { egress: Egress; url: string }) {
  const reply = await guardedRequest(egress, url, {
    headers: { accept: "application/json", "user-agent": "muster-agent-release" },
    maxBytes: bytesMax,
    totalMs,
  });
  if (reply.status !== 200) {
    reply.body.destroy();
    throw new Error(`the feed answered ${reply.status}`);
  }
  return newerIn(own, await text(reply.body));
}

function newerIn(own: string, answer: string): PlatformRelease | null {
  const { version, url } = feed.parse(JSON.parse(answer));
  const [named, running] = [parseVersion(version), parseVersion(own)];
  if (named === null) throw new Error("the feed's version is no semantic version");
  if (running === null || compareVersions(named, running) <= 0) return null;
  return url === undefined ? { version: named } : { version: named, url };
}
