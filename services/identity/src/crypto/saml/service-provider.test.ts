import { createVerify } from "node:crypto";
import { inflateRawSync } from "node:zlib";
import { beforeAll, describe, expect, it } from "@jest/globals";
import { responseLimits } from "../../rules/sso/saml/byte-limits.ts";
import { emailFormat } from "../../rules/sso/saml/saml-user.ts";
import { type TestKey, testKey } from "../../testing/saml.ts";
import { contentCiphers } from "./encryption-methods.ts";
import { ownMetadata } from "./own-metadata.ts";
import { authnRequest, type OwnEntity } from "./service-provider.ts";
import { attribute, childrenNamed, onlyChild, textOf, withXml } from "./xml.ts";

let key: TestKey;
let own: OwnEntity;
beforeAll(async () => {
  key = await testKey();
  own = {
    entityId: "https://muster.example/api/v1/sso/saml/metadata/1",
    acsUrl: "https://muster.example/api/v1/sso/saml/acs",
    certificate: key.certificate.pem,
    nextCertificate: null,
    signsRequests: false,
    wantsEncrypted: false,
    nameIdFormat: emailFormat,
  };
});

const idp = { entityId: "https://idp.example/?a=1&b=<2>", ssoUrl: "https://idp.example/sso?idpid=x&y=z" };
const requestTo = (change: Partial<OwnEntity> = {}) =>
  authnRequest({ ...own, ...change }, idp, { state: "the-state", privateKey: key.privateKey });

function isSignedBy(url: string, { certificate }: TestKey): boolean {
  const query = url.slice(url.indexOf("SAMLRequest="));
  const covered = query.slice(0, query.indexOf("&Signature="));
  const signature = Buffer.from(new URL(url).searchParams.get("Signature") ?? "", "base64");
  return createVerify("sha256").update(covered).verify(certificate.pem, signature);
}

describe("a request to sign in", () => {
  it("is addressed to the provider with our state, and requests an e-mail address", () => {
    const { url, requestId } = requestTo();
    const { origin, searchParams } = new URL(url);
    expect(origin).toBe("https://idp.example");
    expect([...searchParams.keys()]).toEqual(["idpid", "y", "SAMLRequest", "RelayState"]);
    expect(searchParams.get("RelayState")).toBe("the-state");
    const xml = inflateRawSync(Buffer.from(searchParams.get("SAMLRequest") ?? "", "base64"));
    withXml(xml, { limits: responseLimits, validate: true }, (root) => {
      expect(root.name).toBe("AuthnRequest");
      expect(attribute(root, "ID")).toBe(requestId);
      expect(attribute(root, "Destination")).toBe(idp.ssoUrl);
      expect(attribute(root, "AssertionConsumerServiceURL")).toBe(own.acsUrl);
      expect(textOf(onlyChild(root, "assertion", "Issuer"))).toBe(own.entityId);
      expect(attribute(onlyChild(root, "protocol", "NameIDPolicy"), "Format")).toMatch(/emailAddress$/);
    });
    expect(requestTo().requestId).not.toBe(requestId);
  });

  it("contains nothing of an earlier request, and follows each change of the provider and of our key", async () => {
    const request = (ssoUrl: string, state: string, privateKey = key.privateKey) =>
      authnRequest({ ...own, signsRequests: true }, { ...idp, ssoUrl }, { state, privateKey }).url;
    const [one, two] = [request("https://idp.example/one", "a"), request("https://idp.example/two", "b")];
    expect([new URL(one).pathname, new URL(two).pathname]).toEqual(["/one", "/two"]);
    expect([one, two].map((url) => new URL(url).searchParams.get("RelayState"))).toEqual(["a", "b"]);
    const other = await testKey();
    const again = request("https://idp.example/one", "c", other.privateKey);
    expect(new URL(again).searchParams.get("RelayState")).toBe("c");
    expect(isSignedBy(again, other)).toBe(true);
    expect(isSignedBy(again, key)).toBe(false);
  });

  it("is signed where the setting requires it", () => {
    const { url } = requestTo({ signsRequests: true });
    expect(new URL(url).searchParams.get("SigAlg")).toMatch(/rsa-sha256$/);
    expect(isSignedBy(url, key)).toBe(true);
  });
});

it("our metadata has entity, address and requested attributes, and the certificate where it is used", () => {
  const read = (change: Partial<OwnEntity>) =>
    withXml(Buffer.from(ownMetadata({ ...own, ...change })), { limits: responseLimits, validate: false }, (root) => {
      const role = onlyChild(root, "metadata", "SPSSODescriptor");
      const service = onlyChild(role, "metadata", "AssertionConsumerService");
      return {
        entityId: attribute(root, "entityID"),
        signs: attribute(role, "AuthnRequestsSigned"),
        wants: attribute(role, "WantAssertionsSigned"),
        keys: childrenNamed(role, "metadata", "KeyDescriptor").map((each) => attribute(each, "use")),
        acs: [attribute(service, "Binding"), attribute(service, "Location")],
      };
    });
  const plain = {
    entityId: own.entityId,
    signs: "false",
    wants: "true",
    keys: [] as string[],
    acs: ["urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST", own.acsUrl],
  };
  expect(read({})).toEqual(plain);
  expect(read({ signsRequests: true, wantsEncrypted: true })).toEqual({
    ...plain,
    signs: "true",
    keys: ["signing", "encryption"],
  });
});

it("our metadata names the methods by which assertions may be encrypted, and escapes our addresses", () => {
  const entityId = 'https://muster.example/?a=1&b="<2>"';
  const xml = ownMetadata({ ...own, entityId, wantsEncrypted: true });
  withXml(Buffer.from(xml), { limits: responseLimits, validate: false }, (root) => {
    expect(attribute(root, "entityID")).toBe(entityId);
    const role = onlyChild(root, "metadata", "SPSSODescriptor");
    const methods = childrenNamed(onlyChild(role, "metadata", "KeyDescriptor"), "metadata", "EncryptionMethod");
    const named = methods.map((method) => attribute(method, "Algorithm") ?? "");
    expect(named.slice(0, 3)).toEqual(Object.keys(contentCiphers));
    expect(new Set(named.slice(3).map((uri) => uri.split("#").at(-1)))).toEqual(
      new Set(["rsa-oaep", "rsa-oaep-mgf1p"]),
    );
    expect(xml).not.toMatch(/cbc|rsa-1_5/);
  });
});

it("our metadata has both certificates while our key is renewed, for encryption the next one first", async () => {
  const next = await testKey();
  const change = { signsRequests: true, wantsEncrypted: true, nextCertificate: next.certificate.pem };
  const xml = ownMetadata({ ...own, ...change });
  const bare = (pem: string) => pem.replaceAll(/-----[A-Z ]+-----|\s/g, "");
  const found = [...xml.matchAll(/use="(\w+)".*?<ds:X509Certificate>([^<]+)/g)].map(([, use, base64]) => [use, base64]);
  const [present, following] = [bare(key.certificate.pem), bare(next.certificate.pem)];
  expect(found).toEqual([
    ["signing", present],
    ["signing", following],
    ["encryption", following],
    ["encryption", present],
  ]);
  expect(isSignedBy(requestTo(change).url, key)).toBe(true);
});
