import { beforeAll, describe, expect, it } from "@jest/globals";
import { processorUnits } from "@muster/testing";
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

const bareEntity = (xml: string) => xml.replace(/^<\?xml[^>]*>/, "");
const aggregate = (...entities: string[]) =>
  `<EntitiesDescriptor xmlns="urn:oasis:names:tc:SAML:2.0:metadata" Name="urn:federation">${entities.map(bareEntity).join("")}</EntitiesDescriptor>`;
const serviceProvider = (n: number) =>
  `<EntityDescriptor xmlns="urn:oasis:names:tc:SAML:2.0:metadata" entityID="urn:sp:${n}"><SPSSODescriptor protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol"/></EntityDescriptor>`;

const read = (xml: string) => readMetadata(Buffer.from(xml), now);

describe("metadata of an identity provider", () => {
  it("yields its entity id, sign-in address and certificates for signing", () => {
    const keys = `${descriptor(bare(key))}${descriptor(bare(next), "")}${descriptor(bare(next), ' use="encryption"')}`;
    expect(read(metadata({ keys }))).toEqual({
      entityId: "https://idp.example/metadata",
      ssoUrl: "https://idp.example/sso",
      certificates: [key, next].map(({ certificate }) => ({ ...certificate, source: "metadata" })),
      wantsSignedRequests: false,
      omitted: [],
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
    ["an expired one", () => metadata({ more: 'validUntil="2026-02-01T00:00:00Z"' }), /expired/],
    ["no entity id", () => metadata({ entityId: "" }), /entityID/],
    ["SAML 1.1", () => metadata({ protocol: "urn:oasis:names:tc:SAML:1.1:protocol" }), /does not speak/],
    ["no binding of browsers", () => metadata({ services: service("https://idp.example", "SOAP") }), /HTTP-Redirect/],
    ["an SP", () => metadata().replaceAll("IDPSSODescriptor", "SPSSODescriptor"), /no IDPSSODescriptor/],
    [
      "several identity providers",
      () => aggregate(metadata(), metadata({ entityId: "urn:b" })),
      /2 identity providers.*: https:\/\/idp.example\/metadata, urn:b/,
    ],
    ["an aggregate of none", () => aggregate(), /EntitiesDescriptor/],
    [
      "an aggregate that has expired",
      () => aggregate(metadata()).replace(" Name=", ' validUntil="2026-02-01T00:00:00Z" Name='),
      /expired/,
    ],
    ["a role that has expired", () => metadata({ role: 'validUntil="2026-02-01T00:00:00Z"' }), /expired/],
    ["a comment without an end", () => metadata().replace("<IDPSSO", "<!-- <IDPSSO"), /unread/],
    ["a CDATA section", () => metadata().replace("<IDPSSO", "<![CDATA[x]]><IDPSSO"), /unread/],
    ["no certificate", () => metadata({ keys: "" }), /no certificate/],
    ["a certificate that is none", () => metadata({ keys: descriptor("AAAA") }), /X\.509/],
    ["a DOCTYPE", () => metadata().replace("?>", '?><!DOCTYPE a SYSTEM "http://evil.test">'), /unread/],
    ["text", () => "hello", /unread/],
    ["more than 1 MiB", () => `<a>${"x".repeat(1_024 * 1_024)}</a>`, /1048583 bytes, at most 1048576/],
    ["an encoding that is not accepted", () => `<?xml version="1.0" encoding="UTF-7"?>${metadata()}`, /encoding utf-7/],
  ])("%s is refused with the reason", (_case, make, error) => {
    expect(() => read(make())).toThrow(SamlRefused);
    expect(() => read(make())).toThrow(error);
  });
});

describe("metadata as products write it is accepted, with what was left out", () => {
  const usable = { entityId: "https://idp.example/metadata", ssoUrl: "https://idp.example/sso" };
  const saml11 = '<IDPSSODescriptor protocolSupportEnumeration="urn:oasis:names:tc:SAML:1.1:protocol"/>';
  const beside = (more: string) => metadata({ keys: `${more}${descriptor(bare(key))}` });

  it.each<[string, () => string, unknown[]]>([
    [
      "comments and instructions",
      () =>
        `<?xml version="1.0"?><!-- a --><?xml-stylesheet href="a"?>${bareEntity(metadata().replace("<IDPSSO", "<!-- <b> --><?x y?><IDPSSO"))}<!-- end -->`,
      [],
    ],
    ["a comment in a certificate", () => metadata({ keys: descriptor(`<!-- 2026 -->\n${bare(key)}`) }), []],
    ["an aggregate of one", () => aggregate(metadata()), []],
    [
      "an aggregate with service providers",
      () => aggregate(serviceProvider(1), metadata(), serviceProvider(2)),
      ["Other entities: 2"],
    ],
    ["an aggregate in an aggregate", () => aggregate(serviceProvider(1), aggregate(metadata())), ["Other entities: 1"]],
    [
      "another entity that has expired",
      () => aggregate(metadata({ entityId: "urn:old", more: 'validUntil="2026-02-01T00:00:00Z"' }), metadata()),
      [],
    ],
    [
      "a role for SAML 1.1",
      () => metadata().replace("<IDPSSODescriptor", `${saml11}<IDPSSODescriptor`),
      ["IDPSSODescriptors that have expired or are for another protocol: 1"],
    ],
    [
      "two roles for SAML 2.0",
      () => metadata().replace(/<IDPSSODescriptor.*<\/IDPSSODescriptor>/s, "$&$&"),
      ["Further IDPSSODescriptors for SAML 2.0: 1"],
    ],
    ["a certificate that is none", () => beside(descriptor("AAAA")), ["Signing key 1: Must be an X.509 certificate"]],
    [
      "a key by its name",
      () => beside(descriptor("").replace(/<ds:X509Data>.*<\/ds:X509Data>/, "<ds:KeyName>k</ds:KeyName>")),
      ["Signing key 1: Has no X509Certificate"],
    ],
    [
      "a key without information",
      () => beside('<KeyDescriptor use="signing"/>'),
      ["Signing key 1: Has no X509Certificate"],
    ],
  ])("%s", (_case, make, omitted) => {
    expect(read(make())).toMatchObject({
      ...usable,
      omitted,
      certificates: [{ fingerprint: key.certificate.fingerprint }],
    });
  });

  it("addresses for HTTP-POST alone", () => {
    const services = service("https://idp.example/post", "HTTP-POST");
    expect(read(metadata({ services }))).toMatchObject({
      ssoUrl: "https://idp.example/post",
      omitted: [expect.stringMatching(/HTTP-POST/)],
    });
  });

  it("several identity providers, of which the provider's entity id names one", () => {
    const xml = aggregate(
      metadata({ entityId: "urn:a" }),
      metadata({ entityId: "urn:b", keys: descriptor(bare(next)) }),
    );
    expect(readMetadata(Buffer.from(xml), now, "urn:b")).toMatchObject({
      entityId: "urn:b",
      certificates: [{ fingerprint: next.certificate.fingerprint }],
      omitted: ["Other entities: 1"],
    });
    expect(() => readMetadata(Buffer.from(xml), now, "urn:c")).toThrow(/2 identity providers/);
  });

  it("refuses a document with no certificate that can be used, and says why", () => {
    const keys = `${descriptor("AAAA")}<KeyDescriptor use="signing"/>`;
    expect(() => read(metadata({ keys }))).toThrow(
      /Signing key 1: Must be an X\.509 certificate; Signing key 2: Has no/,
    );
  });

  it("reports at most twenty omissions, and reads the largest documents in time", () => {
    const many = read(beside(descriptor("AAAA").repeat(99)));
    expect(many.omitted).toHaveLength(20);
    const worst = [
      beside('<KeyDescriptor use="signing"/>'.repeat(19_000)),
      beside(descriptor("AAAA").repeat(3_900)),
      aggregate(metadata(), serviceProvider(1).repeat(4_000)),
      aggregate(metadata(), "<!-- -->".repeat(100_000)),
      `<a>${"<!--".repeat(200_000)}</a>`,
      `<a>${"<?".repeat(400_000)}</a>`,
    ];
    const units = worst.map((xml) =>
      processorUnits(() => {
        try {
          read(xml);
        } catch (error) {
          expect(error).toBeInstanceOf(SamlRefused);
        }
      }),
    );
    expect(Math.max(...units)).toBeLessThan(30);
  });
});

describe("metadata in another form", () => {
  const declared = (encoding: string, xml = metadata()) =>
    xml.replace('<?xml version="1.0"?>', `<?xml version='1.0' encoding='${encoding}'?>`);
  const swapped = (text: string) => Buffer.from(text, "utf16le").swap16();
  const umlaut = "https://idp.example/m\u00fcller";

  it.each<[string, () => Buffer | string]>([
    ["with a byte order mark", () => `\ufeff${metadata()}`],
    ["with a byte order mark and a line break", () => `\ufeff\r\n${metadata()}`],
    ["with line breaks around it", () => `\n\r\n\t ${metadata()}\r\n\n`],
    ["without a declaration", () => metadata().replace(/^<\?xml[^>]*>/, "")],
    ["with CRLF between its elements", () => metadata().replaceAll("><", ">\r\n<")],
    ["declared as UTF-8 in capitals", () => declared("UTF-8")],
    ["declared as standalone", () => metadata().replace("?>", ' encoding="utf-8" standalone="no" ?>')],
    ["in UTF-16 with a byte order mark", () => Buffer.from(`\ufeff${declared("utf-16")}`, "utf16le")],
    ["in big-endian UTF-16", () => swapped(`\ufeff${declared("UTF-16")}`)],
    ["in UTF-16 without a byte order mark", () => Buffer.from(declared("utf-16"), "utf16le")],
    ["pasted from a file in UTF-16", () => declared("utf-16")],
    ["with blanks around its identifiers", () => metadata({ entityId: " https://idp.example/metadata\n" })],
  ])("is read %s", (_case, make) => {
    const bytes = Buffer.from(make());
    expect(readMetadata(bytes, now)).toMatchObject({
      entityId: "https://idp.example/metadata",
      ssoUrl: "https://idp.example/sso",
    });
  });

  it("keeps its characters, whatever the encoding", () => {
    const latin = Buffer.from(declared("ISO-8859-1", metadata({ entityId: umlaut })), "latin1");
    const utf8 = Buffer.from(declared("utf-8", metadata({ entityId: umlaut })));
    for (const bytes of [latin, utf8]) expect(readMetadata(bytes, now).entityId).toBe(umlaut);
  });

  it("is refused when its bytes are not of its encoding, and when there is nothing", () => {
    expect(() => readMetadata(Buffer.from([0x3c, 0x61, 0xff]), now)).toThrow(/unread: not UTF-8/);
    for (const text of ["", " ", "\ufeff", "<"]) expect(() => read(text)).toThrow(SamlRefused);
  });
});

describe("a certificate", () => {
  it("is accepted as PEM, and as bare base64", () => {
    expect(readCertificate(key.certificate.pem, "manual")).toEqual(key.certificate);
    expect(readCertificate(bare(key), "manual")).toEqual(key.certificate);
    const printed = `\ufeffBag Attributes\r\n  friendlyName: idp\r\n${key.certificate.pem.replaceAll("\n", "\r\n")}\r\n`;
    expect(readCertificate(printed, "manual")).toEqual(key.certificate);
  });

  it.each(["", "x", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----"])(
    "that is %j is refused",
    (text) => {
      expect(readCertificate(text, "manual")).toBe("Must be an X.509 certificate");
    },
  );
});
