import { baseUrls, coupled, flag, mfaMaxAgeMinutes, packageVersion, verifierKeys, webUrl, whole } from "@muster/kit";
import { z } from "zod";

/** As the bus, audit rows and caller tokens name it. */
export const service = "agent-release";
export const version = packageVersion(import.meta.url);
export const migrations = new URL("../migrations/", import.meta.url);

const optional = () => z.string().min(1).optional();

export const settings = {
  TENANCY_URL: baseUrls("tenancy", "queried for devices and notified of updates that begin"),
  IDENTITY_URL: baseUrls("identity", "mails of halted rollouts go through it; without it nobody gets any").optional(),
  AGENT_AUTO_PROMOTE: flag(true).describe(
    "Whether a newly registered version becomes the fleet's target at once; never backwards.",
  ),
  BINARY_SOURCE: z
    .enum(["github", "local"])
    .default("github")
    .describe("Where agents download from: the release host, or this platform's store (local)."),
  RELEASE_SOURCE: z
    .string()
    .regex(/^[^/\s]+\/[^/\s]+$/, "must be owner/name")
    .optional()
    .describe("owner/name of the repository whose releases sync-github reads; unset: no such source."),
  RELEASE_API_URL: webUrl()
    .default("https://api.github.com")
    .describe("Base URL of the GitHub-style API that sync-github queries."),
  RELEASE_TOKEN: optional().describe("Token for the GitHub-style API; sent to that API's origin only."),
  RELEASE_DIRECTORY: optional().describe(
    "Folder with one subfolder per version that sync-directory reads; unset: no such source.",
  ),
  RELEASE_FEED_URL: webUrl()
    .optional()
    .describe(
      "URL of a JSON object {version, url?} that names the newest release of Muster itself, read every twelve hours: console and CLI tell platform administrators once of a newer one. Unset: nothing is asked.",
    ),
  RELEASE_MANIFEST_KEYS: verifierKeys()
    .default("")
    .describe(
      "Verifier keys of signed manifests, name+hash+base64, comma-separated. A release without a manifest signed by one of them is not registered; when empty, ALLOW_UNSIGNED_RELEASES decides.",
    ),
  ALLOW_UNSIGNED_RELEASES: flag(false).describe(
    "Whether unsigned releases are offered to agents, and registered where RELEASE_MANIFEST_KEYS is empty. Outside of production and without keys they are anyway.",
  ),
  RELEASE_STORE_DIR: optional().describe(
    "Folder that binaries are stored in; without folder and bucket nothing is stored.",
  ),
  RELEASE_S3_BUCKET: optional().describe("Bucket that binaries are stored in, instead of a folder."),
  RELEASE_S3_PREFIX: z.string().default("releases/").describe("Prefix of the keys in the bucket of binaries."),
  RELEASE_S3_ENDPOINT: webUrl().optional().describe("URL of the bucket's S3-compatible storage; unset: AWS."),
  RELEASE_S3_REGION: z.string().default("us-east-1").describe("Region of the bucket."),
  RELEASE_S3_PATH_STYLE: flag(false).describe("Whether the bucket is named in the path instead of the host name."),
  RELEASE_S3_ACCESS_KEY_ID: optional().describe("Access key of the bucket; unset: the environment's credentials."),
  RELEASE_S3_SECRET_ACCESS_KEY: optional().describe("Secret of the bucket's access key."),
  RELEASE_S3_PROXY: flag(false).describe(
    "Whether binaries of the bucket are streamed through the platform instead of redirecting to a URL signed for 5 minutes.",
  ),
  UPDATE_TIMEOUT_SECONDS: whole(300, 10, 86_400).describe(
    "Seconds within which a device must run an offered version; later it counts as failed.",
  ),
  UPDATE_BACK_OFF_SECONDS: z
    .string()
    .regex(/^\d{1,8}(,\d{1,8}){0,9}$/, "Seconds, separated by commas")
    .default("3600,14400,86400")
    .describe(
      "Seconds for which a release is not offered again to a device on which it failed: after the first failure, the second, and so on; the last one counts from then on.",
    ),
  UPDATE_PROGRESS_MAX_MINUTES: whole(60, 1, 10_080).describe(
    "Minutes after an offer until which an agent that reports more bytes of its download has UPDATE_TIMEOUT_SECONDS anew; then it counts as failed.",
  ),
  HEARTBEAT_INTERVAL_SECONDS: coupled(
    whole(60, 1, 3_600).describe("Seconds between the heartbeats of an agent; a device that soaks may miss three."),
    { shared: true },
  ),
  ROLLOUT_START_BUDGET: whole(5, 0, 1_000_000).describe(
    "Updates in flight that a release may have before its first success: in all, per organization and per os/arch. Each success doubles it; 0: no such limit.",
  ),
  ROLLOUT_FIRST_DEVICE_ALONE: flag(true).describe(
    "Whether a staged rollout offers its version to one device of each os/arch alone, until that device's update has ended.",
  ),
  STAGED_ROLLOUTS_MAX: whole(10, 1, 1_000).describe(
    "Staged rollouts that the platform, and each partner, may have open at the same time; another one is refused with 409.",
  ),
  MFA_MAX_AGE_MINUTES: mfaMaxAgeMinutes,
  EGRESS_TEST_EXCEPTIONS: z
    .string()
    .default("")
    .describe("Origins that tests may request, [scheme://]name:port=address[,…]; refused in production."),
};
