import type { ArchiveSettings } from "../../config.ts";
import type { Archive } from "./archive.ts";

/** The archive that the settings name, null when they name none. Throws an Error when they name two. */
export async function openArchive(settings: ArchiveSettings): Promise<Archive | null> {
  const { ARCHIVE_S3_BUCKET: bucket, ARCHIVE_DIRECTORY: directory } = settings;
  if (bucket && directory) throw new Error("ARCHIVE_S3_BUCKET and ARCHIVE_DIRECTORY are both set");
  if (directory) {
    const { directoryArchive } = await import("./directory.ts");
    return directoryArchive(directory, settings.ARCHIVE_PREFIX);
  }
  if (!bucket) return null;
  // Loaded only where it is used: the SDK is large.
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
