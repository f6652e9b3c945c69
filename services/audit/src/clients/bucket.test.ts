import { gunzipSync, gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { bucketErrors, bucketUrl, hourOf, objectKey } from "../rules/bucket.ts";
import { type S3Server, s3Server } from "../testing/s3-server.ts";
import { s3Archive } from "./archive/s3.ts";
import { type BucketRequest, putIntoBucket } from "./bucket.ts";

let server: S3Server;
beforeAll(async () => {
  server = await s3Server();
});
afterAll(() => server?.stop());

/** As the dispatcher sends it. */
async function send({ url, method, headers, body }: BucketRequest) {
  const own = headers.filter(({ key }) => !["host", "content-length"].includes(key.toLowerCase()));
  const init = { method, body, headers: own.map(({ key, value }): [string, string] => [key, value]) };
  const answer = await fetch(url, init);
  const text = Buffer.from(await answer.arrayBuffer());
  return { status: answer.status, error: answer.ok ? null : `The receiver answered ${answer.status}`, body: text };
}
const where = () => {
  const { bucket, region, endpoint, pathStyle } = server.options;
  return { bucket, region, endpoint, pathStyle, prefix: "muster/" };
};
const put = (key: string, body: Buffer, change: object = {}) =>
  putIntoBucket({ ...where(), ...change }, { ...server.options.credentials, ...change }, key, body, send);

describe("an object in a customer's bucket", () => {
  it("is signed by the S3 client and sent by another", async () => {
    const text = '{"type":"row"}\n';
    expect(await put("2026/01/31/12/a.ndjson.gz", gzipSync(text))).toMatchObject({
      status: 200,
      error: null,
    });
    const stored = s3Archive({ ...server.options, prefix: "muster/" });
    const found = await stored.get("2026/01/31/12/a.ndjson.gz");
    expect(found && gunzipSync(found).toString()).toBe(text);
    await stored.close();
  });

  it.each<[string, object, number, RegExp]>([
    ["an unknown key", { accessKeyId: "nobody" }, 403, /InvalidAccessKeyId/],
    ["a missing bucket", { bucket: "missing" }, 404, /NoSuchBucket/],
  ])("is refused with %s, and the storage's answer is kept", async (_, change, status, answer) => {
    const pushed = await put("a", Buffer.from("a"), change);
    expect([pushed.status, pushed.error]).toEqual([status, `The receiver answered ${status}`]);
    expect(pushed.body.toString()).toMatch(answer);
  });

  it("throws what the dispatcher threw when nothing was sent", async () => {
    const overloaded = new Error("overloaded");
    const { credentials } = server.options;
    const unsent = putIntoBucket(where(), credentials, "a", Buffer.from("a"), () => Promise.reject(overloaded));
    await expect(unsent).rejects.toThrow("overloaded");
  });
});

describe("names of objects", () => {
  const row = (seq: number, time: string) => ({ seq, entry: { timestamp: new Date(time) } });
  it("are by the hour of the rows and sort as the chain", () => {
    expect(objectKey([row(7, "2026-01-31T12:59:59.999Z"), row(42, "2026-01-31T12:00:00Z")])).toBe(
      "2026/01/31/12/0000000000000007-0000000000000042.ndjson.gz",
    );
    expect(hourOf(new Date(Number.NaN))).toBe("0000/00/00/00");
  });
});

describe("a bucket", () => {
  const bucket = {
    bucket: "acme-audit",
    region: "eu-central-1",
    endpoint: null,
    prefix: "",
    pathStyle: false,
    accessKeyId: "AKIAEXAMPLE",
    secretAccessKey: "secret",
  };
  it.each<[object, string]>([
    [{}, "https://acme-audit.s3.eu-central-1.amazonaws.com/"],
    [{ endpoint: "https://minio.example.com:9000", pathStyle: true }, "https://minio.example.com:9000/acme-audit/"],
    [{ endpoint: "https://r2.example.com" }, "https://acme-audit.r2.example.com/"],
  ])("with %j is at %s", (change, url) => expect(bucketUrl({ ...bucket, ...change })).toBe(url));

  it.each<[object, string]>([
    [{ bucket: "Acme" }, "s3.bucket"],
    [{ bucket: "a/b" }, "s3.bucket"],
    [{ region: "eu.central@evil" }, "s3.region"],
    [{ endpoint: "https://minio.example.com/path" }, "s3.endpoint"],
    [{ endpoint: "https://user:pw@minio.example.com" }, "s3.endpoint"],
    [{ prefix: "audit" }, "s3.prefix"],
    [{ prefix: "../" }, "s3.prefix"],
    [{ accessKeyId: "" }, "s3.accessKeyId"],
    [{ secretAccessKey: "a b c" }, "s3.secretAccessKey"],
  ])("with %j is refused by the name of the field", (change, field) => {
    expect(Object.keys(bucketErrors({ ...bucket, ...change }, true))).toEqual([field]);
    expect(bucketErrors(bucket, false)).toEqual({});
  });

  const byRole = {
    ...{ ...bucket, accessKeyId: "", secretAccessKey: "" },
    roleArn: "arn:aws:iam::123456789012:role/path/muster",
  };
  it.each<[object, boolean, string]>([
    [{}, false, "s3.roleArn"],
    [{ roleArn: "muster" }, true, "s3.roleArn"],
    [{ roleArn: "arn:aws:iam::123456789012:user/muster" }, true, "s3.roleArn"],
    [{ accessKeyId: "AKIAEXAMPLE" }, true, "s3.accessKeyId"],
    [{ secretAccessKey: "secret" }, true, "s3.secretAccessKey"],
    [{ endpoint: "https://minio.example.com" }, true, "s3.endpoint"],
  ])("by a role with %j is refused by the name of the field", (change, hasRoles, field) => {
    expect(Object.keys(bucketErrors({ ...byRole, ...change }, hasRoles))).toEqual([field]);
    expect(bucketErrors(byRole, true)).toEqual({});
  });
});
