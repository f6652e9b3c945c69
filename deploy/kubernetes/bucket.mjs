// node bucket.mjs serve FOLDER: an S3 server of one bucket, `backups`, on a free port, which it writes to its output.
// node bucket.mjs get URL NAME FILE: an object of it, as an operator's own program fetches it.
import { writeFileSync } from "node:fs";
import { createRequire } from "node:module";

const of = createRequire(new URL("../../services/audit/package.json", import.meta.url));
const [what, at, name, file] = process.argv.slice(2);
if (what === "serve") {
  const S3rver = of("s3rver");
  const configureBuckets = [{ name: "backups", configs: [] }];
  const server = new S3rver({ port: 0, address: "127.0.0.1", silent: true, directory: at, configureBuckets });
  console.log((await server.run()).port);
} else {
  const { GetObjectCommand, S3Client } = of("@aws-sdk/client-s3");
  const credentials = { accessKeyId: "S3RVER", secretAccessKey: "S3RVER" };
  const client = new S3Client({ endpoint: at, region: "us-east-1", forcePathStyle: true, credentials });
  const { Body } = await client.send(new GetObjectCommand({ Bucket: "backups", Key: name }));
  writeFileSync(file, await Body.transformToByteArray());
}
