import type { Egress } from "@muster/egress";
import { directorySource } from "./directory-source.ts";
import { githubSource } from "./github-source.ts";
import type { ReleaseSource } from "./release-source.ts";
import { directoryStorage, type Storage } from "./storage.ts";

/** Settings of sources and store, as config.ts describes them. */
export type ReleaseConfig = {
  RELEASE_SOURCE?: string | undefined;
  RELEASE_API_URL: string;
  RELEASE_TOKEN?: string | undefined;
  RELEASE_DIRECTORY?: string | undefined;
  RELEASE_STORE_DIR?: string | undefined;
  RELEASE_S3_BUCKET?: string | undefined;
  RELEASE_S3_PREFIX: string;
  RELEASE_S3_ENDPOINT?: string | undefined;
  RELEASE_S3_REGION: string;
  RELEASE_S3_PATH_STYLE: boolean;
  RELEASE_S3_ACCESS_KEY_ID?: string | undefined;
  RELEASE_S3_SECRET_ACCESS_KEY?: string | undefined;
  RELEASE_S3_PROXY: boolean;
};

/** The release sources that are configured. */
export function openSources(config: ReleaseConfig, egress: Egress): ReleaseSource[] {
  const { RELEASE_SOURCE: repository, RELEASE_DIRECTORY: directory, RELEASE_API_URL: apiUrl } = config;
  return [
    ...(repository ? [githubSource({ egress, apiUrl, repository, token: config.RELEASE_TOKEN ?? null })] : []),
    ...(directory ? [directorySource(directory)] : []),
  ];
}

/** The store of binaries; null when none is configured. */
export async function openStorage(config: ReleaseConfig): Promise<Storage | null> {
  const { RELEASE_S3_BUCKET: bucket, RELEASE_STORE_DIR: directory } = config;
  if (bucket) {
    // The SDK is large: it is loaded where there is a bucket.
    const { s3Storage } = await import("./s3-storage.ts");
    const [id, secret] = [config.RELEASE_S3_ACCESS_KEY_ID, config.RELEASE_S3_SECRET_ACCESS_KEY];
    return s3Storage({
      bucket,
      prefix: config.RELEASE_S3_PREFIX,
      endpoint: config.RELEASE_S3_ENDPOINT ?? null,
      region: config.RELEASE_S3_REGION,
      pathStyle: config.RELEASE_S3_PATH_STYLE,
      credentials: id && secret ? { accessKeyId: id, secretAccessKey: secret } : null,
      proxy: config.RELEASE_S3_PROXY,
    });
  }
  return directory ? directoryStorage(directory) : null;
}
