import { whole } from "@muster/kit";
import { z } from "zod";
import type { Archive } from "./archive.ts";

const flag = z.enum(["true", "false"]);

/** Where archives and checkpoints go: a bucket, a directory, or nowhere. */
export const archiveSettings = {
  ARCHIVE_S3_BUCKET: z.string().optional().describe("Bucket of an S3-compatible storage for archived audit rows."),
  ARCHIVE_S3_ENDPOINT: z.url().optional().describe("URL of the storage when it is not AWS's own."),
  ARCHIVE_S3_REGION: z.string().default("us-east-1").describe("Region of the bucket."),
  ARCHIVE_S3_PATH_STYLE: flag
    .default("false")
    .describe("Bucket in the path instead of the host name (MinIO and others)."),
  ARCHIVE_S3_ACCESS_KEY_ID: z
    .string()
    .optional()
    .describe("Access key; without it the surroundings' own credentials (role of the pod or machine)."),
  ARCHIVE_S3_SECRET_ACCESS_KEY: z.string().optional().describe("Secret of the access key."),
  ARCHIVE_PREFIX: z
    .string()
    .regex(/^([A-Za-z0-9._-]+\/)*$/, "Must be empty or end in a slash")
    .default("")
    .describe("Stands before every key in the bucket or directory."),
  ARCHIVE_DIRECTORY: z.string().optional().describe("Directory for archived audit rows, in place of a bucket."),
  ARCHIVE_TIMEOUT_SECONDS: whole(30, 1, 600).describe("Seconds that one request to the storage may take."),
};

export type ArchiveSettings = z.infer<z.ZodObject<typeof archiveSettings>>;

/** The archive that the settings name, null when they name none. Throws an Error when they name two. */
export async function openArchive(settings: ArchiveSettings): Promise<Archive | null> {
  const { ARCHIVE_S3_BUCKET: bucket, ARCHIVE_DIRECTORY: directory } = settings;
  if (bucket && directory) throw new Error("ARCHIVE_S3_BUCKET and ARCHIVE_DIRECTORY are both set");
  if (directory) {
    const { directoryArchive } = await import("./directory.ts");
    return directoryArchive(directory, settings.ARCHIVE_PREFIX);
  }
  if (!bucket) return null;
  // Loaded only where it is used: the SDK costs 25 MB.
  const { s3Archive } = await import("./s3.ts");
  return s3Archive({
    bucket,
    endpoint: settings.ARCHIVE_S3_ENDPOINT ?? null,
    region: settings.ARCHIVE_S3_REGION,
    pathStyle: settings.ARCHIVE_S3_PATH_STYLE === "true",
    credentials:
      settings.ARCHIVE_S3_ACCESS_KEY_ID && settings.ARCHIVE_S3_SECRET_ACCESS_KEY
        ? { accessKeyId: settings.ARCHIVE_S3_ACCESS_KEY_ID, secretAccessKey: settings.ARCHIVE_S3_SECRET_ACCESS_KEY }
        : null,
    prefix: settings.ARCHIVE_PREFIX,
    timeoutMs: settings.ARCHIVE_TIMEOUT_SECONDS * 1_000,
  });
}
