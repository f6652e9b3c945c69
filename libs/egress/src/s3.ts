import { S3Client } from "@aws-sdk/client-s3";

/** Where a bucket is, and how requests to it are signed. */
export type BucketOptions = {
  bucket: string;
  /** Null: AWS's own. */
  endpoint: string | null;
  region: string;
  /** Whether the bucket is named in the path instead of the host name. */
  pathStyle: boolean;
  /** Null: those of the environment (role of the pod or machine). */
  credentials: { accessKeyId: string; secretAccessKey: string } | null;
};

export type ClientOptions = {
  /** Of one try. */
  timeoutMs: number;
  /** Connections at a time; default: the SDK's 50. */
  maxSockets?: number;
};

/**
 * A client of S3 or of a compatible storage. Every request is tried three times at most. An entry point of its own: the
 * SDK costs 25 MB, and is loaded where there is a bucket.
 */
export function s3Client(where: Omit<BucketOptions, "bucket">, { timeoutMs, maxSockets }: ClientOptions): S3Client {
  const { region, pathStyle, endpoint, credentials } = where;
  const agent = maxSockets === undefined ? {} : { httpAgent: { maxSockets }, httpsAgent: { maxSockets } };
  return new S3Client({
    region,
    forcePathStyle: pathStyle,
    maxAttempts: 3,
    requestHandler: { connectionTimeout: 5_000, requestTimeout: timeoutMs, throwOnRequestTimeout: true, ...agent },
    // Storages other than AWS's know the checksums that we name, not those the SDK would add in trailers.
    requestChecksumCalculation: "WHEN_REQUIRED",
    responseChecksumValidation: "WHEN_REQUIRED",
    ...(endpoint ? { endpoint } : {}),
    ...(credentials ? { credentials } : {}),
  });
}
