import { createReadStream } from "node:fs";
import {
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  NoSuchKey,
  NotFound,
  PutObjectCommand,
} from "@aws-sdk/client-s3";
import { getSignedUrl } from "@aws-sdk/s3-request-presigner";
import { type BucketOptions, s3Client } from "@muster/egress/s3";
import { attachment } from "@muster/kit";
import { type Storage, storeKey } from "./storage.ts";

export type S3Options = BucketOptions & {
  prefix: string;
  /** Downloads go through this service instead of a signed URL. */
  proxy: boolean;
};

const urlSeconds = 300;
const timeoutMs = 30_000;
/**
 * Each download that is streamed through this service holds a connection for as long as its client reads. Gateways
 * bound the downloads (`IN_FLIGHT_MAX_DOWNLOAD`); the SDK's 50 connections would make others wait for slow clients.
 */
const maxSockets = 1_024;

/** A bucket of S3 or of a compatible storage. */
export function s3Storage(options: S3Options): Storage {
  const { bucket, prefix, proxy } = options;
  const client = s3Client(options, { timeoutMs, maxSockets });
  const keyOf = (sha256: string) => prefix + storeKey(sha256);
  return {
    name: `s3://${bucket}/${prefix}`,
    async putFile(sha256, path, size) {
      await client.send(
        new PutObjectCommand({
          Bucket: bucket,
          Key: keyOf(sha256),
          Body: createReadStream(path),
          ContentLength: size,
          ContentType: "application/octet-stream",
          // The storage refuses what arrives otherwise.
          ChecksumSHA256: Buffer.from(sha256, "hex").toString("base64"),
        }),
      );
    },
    async has(sha256) {
      try {
        await client.send(new HeadObjectCommand({ Bucket: bucket, Key: keyOf(sha256) }));
        return true;
      } catch (error) {
        if (error instanceof NotFound) return false;
        throw error;
      }
    },
    async read(sha256, start, end) {
      try {
        const range = `bytes=${start}-${end - 1}`;
        const { Body } = await client.send(new GetObjectCommand({ Bucket: bucket, Key: keyOf(sha256), Range: range }));
        return (Body as AsyncIterable<Uint8Array> | undefined) ?? null;
      } catch (error) {
        if (error instanceof NoSuchKey) return null;
        throw error;
      }
    },
    async urlOf(sha256, name) {
      if (proxy) return null;
      const command = new GetObjectCommand({
        Bucket: bucket,
        Key: keyOf(sha256),
        ResponseContentDisposition: attachment(name),
      });
      return getSignedUrl(client, command, { expiresIn: urlSeconds });
    },
    async remove(sha256) {
      await client.send(new DeleteObjectCommand({ Bucket: bucket, Key: keyOf(sha256) }));
    },
    close: () => client.destroy(),
  };
}
