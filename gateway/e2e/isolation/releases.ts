/** A release that exists before any call is tried; newer than what another suite's rollouts have promoted. */
export const registeredVersion = `0.0.${Date.now()}-matrix`;

/** A helper of which there is one file. */
export function releaseBody(name: string, version = `0.0.1-${name}`): Record<string, unknown> {
  const artifact = { os: "linux", arch: "amd64", size: 1, sha256: "0".repeat(64), name: "helper" };
  const manifest = JSON.stringify({ version, component: "helper", artifacts: [artifact] });
  return { manifest, urls: { helper: "https://releases.example.com/helper" } };
}

/** Routes that need a published release: e2e/releases tests them. */
export const ofPublishedReleases = [
  "POST /agent-versions/promote",
  "POST /agent-versions/rollouts/preview",
  "POST /agent-versions/sync-:source",
  "GET /agents/download/:os/:arch",
  "GET /agents/download/:os/:arch/manifest",
];
