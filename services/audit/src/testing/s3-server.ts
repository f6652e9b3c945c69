import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import S3rver from "s3rver";
import type { S3Options } from "../clients/archive/s3.ts";

export type S3Server = {
  options: Omit<S3Options, "prefix"> & { credentials: { accessKeyId: string; secretAccessKey: string } };
  stop(): Promise<void>;
};

/** A real S3 server (HTTP, signatures checked) with one bucket, on a free port of this machine. */
export async function s3Server(port = 0): Promise<S3Server> {
  const directory = await mkdtemp(join(tmpdir(), "muster-s3-"));
  const configureBuckets = [{ name: "audit", configs: [] }];
  const server = new S3rver({ port, address: "127.0.0.1", silent: true, directory, configureBuckets });
  const address = await server.run();
  return {
    options: {
      bucket: "audit",
      endpoint: `http://127.0.0.1:${address.port}`,
      region: "us-east-1",
      pathStyle: true,
      credentials: { accessKeyId: "S3RVER", secretAccessKey: "S3RVER" },
      timeoutMs: 10_000,
    },
    async stop() {
      await server.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}
