import { open } from "node:fs/promises";
import {
  AbortMultipartUploadCommand,
  type CompletedPart,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  UploadPartCommand,
} from "@aws-sdk/client-s3";
import { type BucketOptions, s3Client } from "@muster/egress/s3";
import { expiredBackups, partBytes } from "../rules/backup.ts";

/** Backups in a bucket, each an object `<prefix>muster-<time>.dump`. */
export type Backups = {
  /** `s3://bucket/prefix`. */
  name: string;
  /** Uploads a file of `bytes` under `name`; throws, and leaves nothing, when not all of it was stored. */
  put(name: string, path: string, bytes: number): Promise<void>;
  /** Removes all but the newest `keep` backups; returns the names of those removed. */
  prune(keep: number): Promise<string[]>;
  close(): void;
};

const timeoutMs = 120_000;

/** Backups in a bucket of S3 or of a compatible storage; a part of a file is in memory at a time. */
export function s3Backups(where: BucketOptions & { prefix: string }): Backups {
  const { bucket: Bucket, prefix } = where;
  const client = s3Client(where, { timeoutMs });

  async function parts(object: { Bucket: string; Key: string; UploadId: string }, path: string, bytes: number) {
    const file = await open(path);
    try {
      const size = partBytes(bytes);
      const stored: CompletedPart[] = [];
      for (let start = 0; start < bytes; start += size) {
        const Body = Buffer.alloc(Math.min(size, bytes - start));
        const { bytesRead } = await file.read(Body, 0, Body.length, start);
        if (bytesRead !== Body.length) throw new Error(`${path} ended after ${start + bytesRead} of ${bytes} bytes`);
        const PartNumber = stored.length + 1;
        const { ETag } = await client.send(new UploadPartCommand({ ...object, PartNumber, Body }));
        stored.push({ ETag, PartNumber });
      }
      return stored;
    } finally {
      await file.close();
    }
  }

  return {
    name: `s3://${Bucket}/${prefix}`,
    async put(name, path, bytes) {
      const Key = prefix + name;
      const created = await client.send(new CreateMultipartUploadCommand({ Bucket, Key }));
      const object = { Bucket, Key, UploadId: created.UploadId ?? "" };
      try {
        const MultipartUpload = { Parts: await parts(object, path, bytes) };
        await client.send(new CompleteMultipartUploadCommand({ ...object, MultipartUpload }));
      } catch (error) {
        // What remains of an upload that cannot be aborted either, the bucket's lifecycle removes.
        await client.send(new AbortMultipartUploadCommand(object)).catch(() => undefined);
        throw error;
      }
      const { ContentLength } = await client.send(new HeadObjectCommand({ Bucket, Key }));
      if (ContentLength !== bytes) throw new Error(`${Key} has ${ContentLength} bytes in the bucket, not ${bytes}`);
    },
    async prune(keep) {
      const names: string[] = [];
      let token: string | undefined;
      do {
        const more = token ? { ContinuationToken: token } : {};
        const page = await client.send(new ListObjectsV2Command({ Bucket, Prefix: `${prefix}muster-`, ...more }));
        for (const { Key } of page.Contents ?? []) if (Key) names.push(Key.slice(prefix.length));
        token = page.IsTruncated ? page.NextContinuationToken : undefined;
      } while (token);
      const expired = expiredBackups(names, keep);
      for (const name of expired) await client.send(new DeleteObjectCommand({ Bucket, Key: prefix + name }));
      return expired;
    },
    close: () => client.destroy(),
  };
}
