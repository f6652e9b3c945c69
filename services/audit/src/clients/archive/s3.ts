import { createHash } from "node:crypto";
import { GetObjectCommand, ListObjectsV2Command, NoSuchKey, PutObjectCommand } from "@aws-sdk/client-s3";
import { type BucketOptions, s3Client } from "@muster/egress/s3";
import { type Archive, checkKey } from "./archive.ts";

export type S3Options = BucketOptions & { prefix: string; timeoutMs: number };

/** An archive in a bucket of S3 or of a compatible storage. */
export function s3Archive(options: S3Options): Archive {
  const { bucket, prefix, timeoutMs } = options;
  const client = s3Client(options, { timeoutMs });
  const within = () => ({ abortSignal: AbortSignal.timeout(timeoutMs * 3 + 10_000) });

  return {
    name: `s3://${bucket}/${prefix}`,
    async put(key, body, { lockUntil, contentType = "application/octet-stream" } = {}) {
      checkKey(key);
      const digest = (algorithm: string) => createHash(algorithm).update(body).digest("base64");
      await client.send(
        new PutObjectCommand({
          Bucket: bucket,
          Key: prefix + key,
          Body: body,
          ContentType: contentType,
          // The storage refuses what arrives otherwise; object lock demands one of them.
          ContentMD5: digest("md5"),
          ChecksumSHA256: digest("sha256"),
          ...(lockUntil ? { ObjectLockMode: "COMPLIANCE", ObjectLockRetainUntilDate: lockUntil } : {}),
        }),
        within(),
      );
    },
    async get(key) {
      checkKey(key);
      try {
        const { Body } = await client.send(new GetObjectCommand({ Bucket: bucket, Key: prefix + key }), within());
        if (!Body) throw new Error("the storage answered without a body");
        return Buffer.from(await Body.transformToByteArray());
      } catch (error) {
        if (error instanceof NoSuchKey) return null;
        throw error;
      }
    },
    async *list(wanted) {
      let token: string | undefined;
      do {
        const page = await client.send(
          new ListObjectsV2Command({
            Bucket: bucket,
            Prefix: prefix + wanted,
            ...(token ? { ContinuationToken: token } : {}),
          }),
          within(),
        );
        for (const { Key, Size } of page.Contents ?? []) {
          if (Key?.startsWith(prefix)) yield { key: Key.slice(prefix.length), bytes: Size ?? 0 };
        }
        token = page.IsTruncated ? page.NextContinuationToken : undefined;
      } while (token);
    },
    async close() {
      client.destroy();
    },
  };
}
