import { describe, expect, it } from "@jest/globals";
import { assumeRole, credentialsIn, formType, signatureHeaders } from "./assume-role.ts";

describe("a request that AWS's Signature Version 4 covers", () => {
  it("has the signature of the example in AWS's documentation", () => {
    const by = { accessKeyId: "AKIDEXAMPLE", secretAccessKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY" };
    const request = {
      ...{ host: "iam.amazonaws.com", query: "Action=ListUsers&Version=2010-05-08", method: "GET" as const },
      ...{ region: "us-east-1", service: "iam", headers: { "content-type": formType }, body: "" },
    };
    const headers = signatureHeaders(request, by, new Date("2015-08-30T12:36:00Z"));
    expect(headers).toEqual({
      "content-type": formType,
      "x-amz-date": "20150830T123600Z",
      authorization:
        "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/iam/aws4_request, SignedHeaders=content-type;host;x-amz-date, Signature=5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7",
    });
  });

  it("covers the token of credentials that have one", () => {
    const by = { accessKeyId: "ASIA", secretAccessKey: "s", sessionToken: "token" };
    const role = { roleArn: "arn:aws:iam::123456789012:role/muster", region: "eu-central-1", externalId: "org" };
    const { headers } = assumeRole(role, by, new Date("2026-01-01T00:00:00Z"));
    expect(headers["x-amz-security-token"]).toBe("token");
    expect(headers.authorization).toContain("SignedHeaders=host;x-amz-date;x-amz-security-token,");
  });
});

describe("an answer of AssumeRole", () => {
  const answer = (change: Record<string, string> = {}) =>
    Object.entries({
      ...{ AccessKeyId: "ASIA", SecretAccessKey: "s", SessionToken: "t", Expiration: "2026-01-01T01:00:00Z" },
      ...change,
    })
      .map(([name, value]) => `<${name}>${value}</${name}>`)
      .join("\n");

  it("has credentials and their end", () => {
    expect(credentialsIn(answer())).toEqual({
      ...{ accessKeyId: "ASIA", secretAccessKey: "s", sessionToken: "t" },
      expiresAt: new Date("2026-01-01T01:00:00Z"),
    });
  });

  it.each(["AccessKeyId", "SecretAccessKey", "SessionToken", "Expiration"])("has none without %s", (name) => {
    expect(credentialsIn(answer({ [name]: "" }))).toBeNull();
  });
});
