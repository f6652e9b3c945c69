import { beforeAll, describe, expect, it } from "@jest/globals";
import { SamlRefused } from "../../rules/sso/saml/refused.ts";
import { now, type TestKey, testKey } from "../../testing/saml.ts";
import { readCertificate } from "./certificates.ts";
import { readMetadata } from "./metadata.ts";

let key: TestKey;
let next: TestKey;
beforeAll(async () => {
  [key, next] = await Promise.all([testKey(), testKey()]);
});

const bare = ({ certificate }: TestKey) => certificate.pem.replaceAll(/-----[A-Z ]+-----|\s/g, "");
const descriptor = (content: string, use = ' use="signing"') =>
  `<KeyDescriptor${use}><ds:KeyInfo xmlns:ds="http://www.w3.org/2000/09/xmldsig#"><ds:X509Data><ds:X509Certificate>${content}</ds:X509Certificate></ds:X509Data></ds:KeyInfo></KeyDescriptor>`;
const service = (location = "https://idp.example/sso", name = "HTTP-Redirect") =>
  `<SingleSignOnService Binding="urn:oasis:names:tc:SAML:2.0:bindings:${name}" Location="${location}"/>`;
const metadata = ({
  root = "EntityDescriptor",
  more = "",
  entityId = "https://idp.example/metadata",
  protocol = "urn:oasis:names:tc:SAML:2.0:protocol",
  keys = descriptor(bare(key)),
  services = `${service("https://idp.example/post", "HTTP-POST")}${service()}`,
  role = "",
} = {}) =>
  `<?xml version="1.0"?><${root} xmlns="urn:oasis:names:tc:SAML:2.0:metadata" entityID="${entityId}" ${more}><IDPSSODescriptor ${role} protocolSupportEnumeration="${protocol}">${keys}${services}</IDPSSODescriptor></${root}>`;

const read = (xml: string) => readMetadata(Buffer.from(xml), now);

describe("metadata of an identity provider", () => {
  it("yields its entity id, sign-in address and certificates for signing", () => {
    const keys = `${descriptor(bare(key))}${descriptor(bare(next), "")}${descriptor(bare(next), ' use="encryption"')}`;
    expect(read(metadata({ keys }))).toEqual({
      entityId: "https://idp.example/metadata",
      ssoUrl: "https://idp.example/sso",
      certificates: [key, next].map(({ certificate }) => ({ ...certificate, source: "metadata" })),
      wantsSignedRequests: false,
    });
    expect(read(metadata({ role: 'WantAuthnRequestsSigned="true"' })).wantsSignedRequests).toBe(true);
  });

  it("may contain other elements, in any namespace", () => {
    const roles =
      '<RoleDescriptor xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xmlns:fed="urn:fed" xsi:type="fed:SecurityTokenServiceType"/>';
    expect(read(metadata().replace("<IDPSSODescriptor", `${roles}<IDPSSODescriptor`)).ssoUrl).toBe(
      "https://idp.example/sso",
    );
  });

  it.each<[string, () => string, RegExp]>([
    ["several entities", () => metadata({ root: "EntitiesDescriptor" }), /one EntityDescriptor/],
    ["an expired one", () => metadata({ more: 'validUntil="2026-02-01T00:00:00Z"' }), /expired/],
    ["no entity id", () => metadata({ entityId: "" }), /entityID/],
    ["SAML 1.1", () => metadata({ protocol: "urn:oasis:names:tc:SAML:1.1:protocol" }), /does not speak/],
    ["no redirect binding", () => metadata({ services: service("https://idp.example", "HTTP-POST") }), /HTTP-Redirect/],
    ["no certificate", () => metadata({ keys: "" }), /no certificate/],
    ["a certificate that is none", () => metadata({ keys: descriptor("AAAA") }), /X\.509/],
    ["a DOCTYPE", () => metadata().replace("?>", '?><!DOCTYPE a SYSTEM "http://evil.test">'), /unread/],
    ["text", () => "hello", /unread/],
    ["more than 256 KiB", () => `<a>${"x".repeat(256 * 1024)}</a>`, /unread/],
  ])("%s is refused with the reason", (_case, make, fault) => {
    expect(() => read(make())).toThrow(SamlRefused);
    expect(() => read(make())).toThrow(fault);
  });
});

describe("a certificate", () => {
  it("is accepted as PEM, and as bare base64", () => {
    expect(readCertificate(key.certificate.pem, "manual")).toEqual(key.certificate);
    expect(readCertificate(bare(key), "manual")).toEqual(key.certificate);
  });

  it.each(["", "x", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----"])(
    "that is %j is refused",
    (text) => {
      expect(readCertificate(text, "manual")).toBe("Must be an X.509 certificate");
    },
  );
});
