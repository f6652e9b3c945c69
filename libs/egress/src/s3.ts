import { S3Client, type S3ClientConfig } from "@aws-sdk/client-s3";

export { PutObjectCommand } from "@aws-sdk/client-s3";

/** Where a bucket is, and how requests to it are signed. */
export type BucketOptions = {
  bucket: string;
  /** Null: AWS's own. */
  endpoint: string | null;
  region: string;
  /** Whether the bucket is named in the path instead of the host name. */
  pathStyle: boolean;
  /** Null: those of the environment (role of the pod or machine). */
  credentials: { accessKeyId: string; secretAccessKey: string; sessionToken?: string | undefined } | null;
};

export type ClientOptions = {
  /** Of one try. */
  timeoutMs: number;
  /** Connections at a time; default: the SDK's 50. */
  maxSockets?: number;
  /** Default: 3. */
  maxAttempts?: number;
  /** Sends signed requests instead of the SDK. */
  requestHandler?: NonNullable<S3ClientConfig["requestHandler"]>;
};

/** The credentials of the environment (role of the pod or machine). Throws without any. */
export async function environmentCredentials(region: string): Promise<NonNullable<BucketOptions["credentials"]>> {
  const client = new S3Client({ region });
  try {
    const { accessKeyId, secretAccessKey, sessionToken } = await client.config.credentials();
    return { accessKeyId, secretAccessKey, sessionToken };
  } finally {
    client.destroy();
  }
}

/**
 * A client of S3 or of a compatible storage. Every request is tried `maxAttempts` times. An entry point of its own: the
 * SDK costs 25 MB, and is loaded where there is a bucket.
 */
export function s3Client(where: Omit<BucketOptions, "bucket">, options: ClientOptions): S3Client {
  const { timeoutMs, maxSockets, maxAttempts = 3, requestHandler } = options;
  const { region, pathStyle, endpoint, credentials } = where;
  const agent = maxSockets === undefined ? {} : { httpAgent: { maxSockets }, httpsAgent: { maxSockets } };
  return new S3Client({
    region,
    forcePathStyle: pathStyle,
    maxAttempts,
    requestHandler: requestHandler ?? {
      connectionTimeout: 5_000,
      requestTimeout: timeoutMs,
      throwOnRequestTimeout: true,
      ...agent,
    },
    // Storages other than AWS's know the checksums that we name, not those the SDK would add in trailers.
    requestChecksumCalculation: "WHEN_REQUIRED",
    responseChecksumValidation: "WHEN_REQUIRED",
    ...(endpoint ? { endpoint } : {}),
    ...(credentials ? { credentials: withToken(credentials) } : {}),
  });
}

/** The SDK takes an absent token, and none that is undefined. */
const withToken = ({ sessionToken, ...key }: NonNullable<BucketOptions["credentials"]>) =>
  sessionToken === undefined ? key : { ...key, sessionToken };
