import { describe, expect, it } from "@jest/globals";
import { bucketErrors } from "./bucket.ts";

const byKey = {
  bucket: "acme-audit",
  region: "eu-central-1",
  endpoint: null,
  prefix: "",
  pathStyle: false,
  accessKeyId: "KEY",
  secretAccessKey: "secret",
};
const byRole = { ...byKey, accessKeyId: "", secretAccessKey: "", roleArn: "arn:aws:iam::123456789012:role/muster" };

describe("a bucket", () => {
  it.each([
    ["a key", byKey],
    ["another service's address", { ...byKey, endpoint: "https://s3.example.com" }],
    ["names before those of its objects", { ...byKey, prefix: "muster/audit/" }],
    ["a role", byRole],
  ])("is valid with %s", (_what, bucket) => {
    expect(bucketErrors(bucket, true)).toEqual({});
  });

  it.each([
    ["bucket", { ...byKey, bucket: "ab" }],
    ["region", { ...byKey, region: "EU" }],
    ["prefix", { ...byKey, prefix: "muster" }],
    ["prefix", { ...byKey, prefix: "a/../b/" }],
    ["prefix", { ...byKey, prefix: "./b/" }],
    ["accessKeyId", { ...byKey, accessKeyId: "" }],
    ["accessKeyId", { ...byRole, accessKeyId: "KEY" }],
    ["secretAccessKey", { ...byKey, secretAccessKey: "a b c" }],
    ["secretAccessKey", { ...byRole, secretAccessKey: "secret" }],
    ["roleArn", { ...byRole, roleArn: "arn:aws:iam::1:role/muster" }],
    ["endpoint", { ...byRole, endpoint: "https://s3.example.com" }],
    ["endpoint", { ...byKey, endpoint: "s3.example.com" }],
    ["endpoint", { ...byKey, endpoint: "https://s3.example.com/a" }],
    ["endpoint", { ...byKey, endpoint: "https://s3.example.com/?a" }],
    ["endpoint", { ...byKey, endpoint: "https://s3.example.com/#a" }],
    ["endpoint", { ...byKey, endpoint: "https://ann@s3.example.com" }],
    ["endpoint", { ...byKey, endpoint: `https://${"a".repeat(2_048)}` }],
  ])("is refused with its field %s, case %#", (field, bucket) => {
    expect(Object.keys(bucketErrors(bucket, true))).toEqual([`s3.${field}`]);
  });

  it("has no role where the operator has not enabled them", () => {
    expect(Object.keys(bucketErrors(byRole, false))).toEqual(["s3.roleArn"]);
  });
});
