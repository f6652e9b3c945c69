import { beforeAll, describe, expect, it } from "@jest/globals";
import { processorUnits } from "@muster/testing";
import { SAML, ValidateInResponseTo } from "@node-saml/node-saml";
import { SamlRefused, SamlStatus } from "../../rules/sso/saml/refused.ts";
import {
  type AssertionChange,
  assertionNs,
  assertionXml,
  audience,
  bearerOf,
  confirmationData,
  expected,
  minutes,
  now,
  posted,
  protocolNs,
  responseXml,
  type Signing,
  signed,
  success,
  type TestKey,
  testKey,
  verification,
} from "../../testing/saml.ts";
import { verifyResponse } from "./verify-response.ts";

let key: TestKey;
let otherKey: TestKey;
beforeAll(async () => {
  [key, otherKey] = await Promise.all([testKey(), testKey()]);
});

/** Why a response is refused; null when it is accepted. */
function errorOf(xml: string | Buffer, change: Parameters<typeof verification>[1] = {}): string | null {
  try {
    verifyResponse(posted(xml), verification(key, change));
    return null;
  } catch (error) {
    if (!(error instanceof SamlRefused)) throw error;
    return error.detail;
  }
}

const responseWith = (change: AssertionChange = {}, signing: Signing = {}) =>
  signed(responseXml(assertionXml(change)), key, signing);
const whole = () => responseWith();
const signatureIn = (xml: string) => /<ds:Signature[ >].*<\/ds:Signature>/s.exec(xml)?.[0] ?? "";
const assertionIn = (xml: string) => /<saml:Assertion[ >].*<\/saml:Assertion>/s.exec(xml)?.[0] ?? "";
const evil = assertionXml({ id: "_evil", nameId: "<saml:NameID>eve@acme.example</saml:NameID>" });

describe("a valid response", () => {
  const more = "http://www.w3.org/2001/04/xmldsig-more#";
  it.each<[string, () => string]>([
    ["of RSA with SHA-256", whole],
    [
      "of RSA with SHA-512",
      () => responseWith({}, { algorithm: `${more}rsa-sha512`, digest: "http://www.w3.org/2001/04/xmlenc#sha512" }),
    ],
    [
      "whose namespaces are inherited",
      () =>
        signed(
          responseXml(assertionXml().replace(` xmlns:saml="${assertionNs}"`, ""), {
            namespaces: `xmlns:saml="${assertionNs}"`,
          }),
          key,
        ),
    ],
    [
      "with prefixes to keep",
      () =>
        signed(
          responseXml(
            assertionXml().replace(
              "<saml:AttributeValue>",
              '<saml:AttributeValue xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type="xs:string">',
            ),
          ),
          key,
          { prefixes: ["xs"] },
        ),
    ],
    [
      "whose values have a type by a prefix that is declared above, and is not kept",
      () =>
        signed(
          responseXml(
            assertionXml()
              .replace(
                "<saml:AttributeStatement>",
                '<saml:AttributeStatement xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">',
              )
              .replace("<saml:AttributeValue>", '<saml:AttributeValue xsi:type="xs:string">'),
          ),
          key,
        ),
    ],
    ["whose response is signed, too", () => signed(whole(), key, { of: "Response" })],
    [
      "with a declaration and white space",
      () => `<?xml version="1.0" encoding="UTF-8"?>\n${signed(responseXml(`\n  ${assertionXml()}\n`), key)}\n`,
    ],
    [
      "with characters beyond ASCII",
      () => responseWith({ nameId: "<saml:NameID>zoë&amp;ünal@acme.example</saml:NameID>" }),
    ],
    ["with the certificate in it", () => responseWith({}, { publicCert: key.certificate.pem })],
  ])("%s is accepted, and another library reads the same NameID", async (_case, make) => {
    const xml = make();
    const facts = verifyResponse(posted(xml), verification(key));
    const oracle = new SAML({
      idpCert: key.certificate.pem,
      issuer: expected.audience,
      audience: expected.audience,
      callbackUrl: expected.recipient,
      idpIssuer: expected.issuer,
      wantAssertionsSigned: true,
      wantAuthnResponseSigned: false,
      validateInResponseTo: ValidateInResponseTo.never,
      // The other library uses the machine's clock, and these documents are of another year.
      acceptedClockSkewMs: -1,
    });
    const { profile } = await oracle.validatePostResponseAsync({ SAMLResponse: posted(xml) });
    expect(profile?.nameID).toBe(facts.nameId?.value);
  });

  it("yields the content of the assertion", () => {
    const facts = verifyResponse(posted(whole()), verification(key));
    expect(facts).toMatchObject({ id: "_assertion-1", issuer: expected.issuer, nameId: { value: "ada@acme.example" } });
    expect([...facts.attributes]).toEqual([["name", ["Ada Lovelace"]]]);
  });

  it("is accepted with any of the certificates that are within their validity", () => {
    const certificates = [otherKey.certificate, key.certificate];
    expect(errorOf(whole(), { certificates })).toBeNull();
    const ended = { ...key.certificate, notAfter: minutes(-1) };
    expect(errorOf(whole(), { certificates: [otherKey.certificate, ended] })).toMatch(/no certificate/);
    expect(errorOf(whole(), { certificates: [{ ...key.certificate, notBefore: minutes(1) }] })).toMatch(
      /no certificate/,
    );
  });
});

describe("an attribute's value, which SAML leaves to others, is accepted", () => {
  const xsi = 'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"';
  const value = (attributes: string, content: string) =>
    responseWith({
      attributes: `<saml:AttributeStatement ${xsi} xmlns:xs="http://www.w3.org/2001/XMLSchema"><saml:Attribute Name="email"><saml:AttributeValue ${attributes}>${content}</saml:AttributeValue></saml:Attribute></saml:AttributeStatement>`,
    });

  it.each<[string, string, string]>([
    ["a string", 'xsi:type="xs:string"', "x"],
    ["any type", 'xsi:type="xs:anyType"', "x"],
    ["a boolean as C# writes it", 'xsi:type="xs:boolean"', "True"],
    ["a local date", 'xsi:type="xs:date"', "1.1.2026"],
    ["an empty number", 'xsi:type="xs:integer"', ""],
    ["nothing", 'xsi:nil="true"', ""],
    ["a type of the provider's own", 'xmlns:t="urn:t" xsi:type="t:mine"', "x"],
    ["a type without a prefix", 'xsi:type="string"', "x"],
    ["a type of SAML", 'xsi:type="saml:NameIDType"', "x"],
    ["a place of a schema", 'xsi:schemaLocation="urn:t https://idp.example/t.xsd"', "x"],
    ["an element of the provider's own", "", '<t:x xmlns:t="urn:t" xsi:type="t:y">x</t:x>'],
    ["a NameID", "", '<saml:NameID Format="urn:x">x</saml:NameID>'],
  ])("are read with %s", (_case, attributes, content) => {
    expect(errorOf(value(attributes, content))).toBeNull();
  });

  it.each<[string, string, RegExp]>([
    ["an assertion", evil, /none elsewhere/],
    ["a signature", '<ds:Signature xmlns:ds="http://www.w3.org/2000/09/xmldsig#"/>', /right in the response/],
    ["an ID that stands twice", '<t:x xmlns:t="urn:t" ID="_assertion-1"/>', /twice/],
    ["advice", "<saml:Advice/>", /Advice is refused/],
  ])("but not with %s in it", (_case, content, error) => {
    expect(errorOf(value("", content))).toMatch(error);
  });
});

describe("with an attribute that identifies users", () => {
  const name = "urn:oasis:names:tc:SAML:attribute:subject-id";
  const by = { expected: { ...expected, subjectAttribute: name } };
  const transient = '<saml:NameID Format="urn:oasis:names:tc:SAML:2.0:nameid-format:transient">x</saml:NameID>';
  const attribute = (...values: string[]) =>
    `<saml:AttributeStatement><saml:Attribute Name="${name}">${values.map((each) => `<saml:AttributeValue>${each}</saml:AttributeValue>`).join("")}</saml:Attribute></saml:AttributeStatement>`;

  it.each<[string, string]>([
    ["no NameID", ""],
    ["a transient one", transient],
    ["an empty one", "<saml:NameID/>"],
  ])("a response with %s is accepted", (_case, nameId) => {
    expect(errorOf(responseWith({ nameId, attributes: attribute("ada@acme") }), by)).toBeNull();
    expect(errorOf(responseWith({ nameId, attributes: attribute("ada@acme") }))).toMatch(/NameID/);
  });

  it("its NameID is read where it has one", () => {
    const value = '<saml:NameID NameQualifier="urn:idp">ada-1</saml:NameID>';
    const xml = responseWith({ nameId: transient, attributes: attribute(value) });
    const facts = verifyResponse(posted(xml), verification(key, by));
    expect(facts.attributes.get(name)).toEqual(["ada-1"]);
  });

  it.each<[string, AssertionChange, RegExp]>([
    ["lacks it", {}, /lacks the attribute urn:oasis:names:tc:SAML:attribute:subject-id/],
    ["has two values of it", { attributes: attribute("a", "b") }, /has 2 values/],
    ["has an empty value of it", { attributes: attribute("  ") }, /1 to 1024/],
    ["has an overlong value of it", { attributes: attribute("x".repeat(1_025)) }, /1 to 1024/],
    ["has a value of it that is no text", { attributes: attribute("<saml:Audience>a</saml:Audience>") }, /lacks/],
    ["has two NameIDs", { nameId: `${transient}<saml:BaseID/>`, attributes: attribute("a") }, /schema|NameID/],
  ])("a response that %s is refused by name", (_case, change, error) => {
    expect(errorOf(responseWith(change), by)).toMatch(error);
  });
});

describe("a wrapped signature is refused", () => {
  const object = (content: string) => `<ds:Object>${content}</ds:Object></ds:Signature>`;
  const bare = (xml: string) => xml.replace(signatureIn(xml), "");
  it.each<[string, () => string]>([
    [
      "1: the signed response in its own signature, another around it",
      () => {
        const xml = signed(whole(), key, { of: "Response" });
        return responseXml(evil, { attributes: { ID: "_evil-response" } }).replace(
          "<samlp:Status>",
          `${signatureIn(xml).replace("</ds:Signature>", object(bare(xml)))}<samlp:Status>`,
        );
      },
    ],
    [
      "2: the signed response beside its signature",
      () => {
        const xml = signed(whole(), key, { of: "Response" });
        return responseXml(`${bare(xml)}${evil}`, { attributes: { ID: "_evil-response" } });
      },
    ],
    ["3: another assertion before the signed one", () => responseXml(`${evil}${assertionIn(whole())}`)],
    ["3: another assertion behind it", () => responseXml(`${assertionIn(whole())}${evil}`)],
    [
      "4: the signed assertion in another",
      () => responseXml(evil.replace("</saml:Assertion>", `${assertionIn(whole())}</saml:Assertion>`)),
    ],
    [
      "5: the signature in another assertion, the signed one behind it",
      () => {
        const xml = whole();
        return responseXml(
          `${evil.replace("</saml:Issuer>", `</saml:Issuer>${signatureIn(xml)}`)}${bare(assertionIn(xml))}`,
        );
      },
    ],
    [
      "6: the signed assertion in the signature of another",
      () => {
        const xml = whole();
        const signature = signatureIn(xml).replace("</ds:Signature>", `${bare(assertionIn(xml))}</ds:Signature>`);
        return responseXml(evil.replace("</saml:Issuer>", `</saml:Issuer>${signature}`));
      },
    ],
    [
      "7: another assertion in extensions",
      () => responseXml(assertionIn(whole()), { extensions: `<samlp:Extensions>${evil}</samlp:Extensions>` }),
    ],
    [
      "8: the signed assertion in an object of the other's signature",
      () => {
        const xml = whole();
        const signature = signatureIn(xml).replace("</ds:Signature>", object(bare(assertionIn(xml))));
        return responseXml(evil.replace("</saml:Issuer>", `</saml:Issuer>${signature}`));
      },
    ],
    [
      "an assertion in the status",
      () =>
        responseXml(assertionIn(whole()), {
          status: success.replace("</samlp:Status>", `<samlp:StatusDetail>${evil}</samlp:StatusDetail></samlp:Status>`),
        }),
    ],
    [
      "an assertion as advice",
      () => responseWith({ advice: `<saml:Advice>${evil}</saml:Advice>` }, { id: "_assertion-1" }),
    ],
    [
      "advice of another kind",
      () => responseWith({ advice: "<saml:Advice><saml:AssertionIDRef>_x</saml:AssertionIDRef></saml:Advice>" }),
    ],
    [
      "an attribute that holds an assertion",
      () =>
        responseWith(
          {
            attributes: `<saml:AttributeStatement><saml:Attribute Name="a"><saml:AttributeValue>${evil}</saml:AttributeValue></saml:Attribute></saml:AttributeStatement>`,
          },
          { id: "_assertion-1" },
        ),
    ],
    ["a second response in the first", () => responseXml(`${assertionIn(whole())}${responseXml("")}`)],
    ["an ID that stands twice", () => responseXml(assertionIn(whole()), { attributes: { ID: "_assertion-1" } })],
    [
      "an Id beside the ID",
      () => whole().replace("<saml:Attribute Name", '<saml:Attribute xmlns:x="urn:x" x:Id="_assertion-1" Name'),
    ],
    [
      "the assertion beside the response's own place",
      () =>
        responseXml("", {
          status: success.replace(
            "</samlp:Status>",
            `<samlp:StatusDetail>${assertionIn(whole())}</samlp:StatusDetail></samlp:Status>`,
          ),
        }),
    ],
    ["no assertion", () => responseXml("")],
    ["an assertion instead of a response", () => assertionIn(whole())],
  ])("%s", (_case, make) => {
    expect(errorOf(make())).not.toBeNull();
  });
});

describe("a signature that is not the provider's own over this assertion is refused", () => {
  const sha1 = "http://www.w3.org/2000/09/xmldsig#";
  const replaced = (from: string | RegExp, to: string) => whole().replace(from, to);
  it.each<[string, () => string, RegExp]>([
    ["an assertion without one", () => responseXml(assertionXml()), /not signed/],
    ["one that was taken out", () => whole().replace(signatureIn(whole()), ""), /not signed/],
    [
      "a signed response around an unsigned assertion",
      () => signed(responseXml(assertionXml()), key, { of: "Response" }),
      /not signed/,
    ],
    ["another's key", () => signed(responseXml(assertionXml()), otherKey), /no certificate/],
    [
      "another's key with its certificate",
      () => signed(responseXml(assertionXml()), otherKey, { publicCert: otherKey.certificate.pem }),
      /no certificate/,
    ],
    ["RSA with SHA-1", () => responseWith({}, { algorithm: `${sha1}rsa-sha1` }), /algorithm is not accepted/],
    ["a digest of SHA-1", () => responseWith({}, { digest: `${sha1}sha1` }), /digest is not accepted/],
    ["a secret that both share", () => replaced(/rsa-sha256"/, 'hmac-sha256"'), /algorithm is not accepted/],
    ["none at all", () => replaced(/Algorithm="[^"]*rsa-sha256"/, 'Algorithm="none"'), /algorithm is not accepted/],
    [
      "an algorithm that every object has",
      () => replaced(/Algorithm="[^"]*rsa-sha256"/, 'Algorithm="constructor"'),
      /algorithm is not accepted/,
    ],
    [
      "inclusive canonicalisation",
      () =>
        responseWith(
          {},
          {
            transforms: [
              "http://www.w3.org/2000/09/xmldsig#enveloped-signature",
              "http://www.w3.org/TR/2001/REC-xml-c14n-20010315",
            ],
          },
        ),
      /canonicalisation is not accepted/,
    ],
    [
      "canonicalisation with comments",
      () =>
        responseWith(
          {},
          {
            transforms: [
              "http://www.w3.org/2000/09/xmldsig#enveloped-signature",
              "http://www.w3.org/2001/10/xml-exc-c14n#WithComments",
            ],
          },
        ),
      /canonicalisation is not accepted/,
    ],
    [
      "transforms in another order",
      () =>
        responseWith(
          {},
          {
            transforms: [
              "http://www.w3.org/2001/10/xml-exc-c14n#",
              "http://www.w3.org/2000/09/xmldsig#enveloped-signature",
            ],
          },
        ),
      /transforms are not accepted/,
    ],
    [
      "one transform",
      () => responseWith({}, { transforms: ["http://www.w3.org/2000/09/xmldsig#enveloped-signature"] }),
      /transforms are not accepted/,
    ],
    [
      "a transform by XPath",
      () =>
        replaced(
          "</ds:Transforms>",
          '<ds:Transform Algorithm="http://www.w3.org/TR/1999/REC-xpath-19991116"><ds:XPath>true()</ds:XPath></ds:Transform></ds:Transforms>',
        ),
      /transforms are not accepted/,
    ],
    [
      "a length of the signature's output",
      () =>
        replaced(
          /(<ds:SignatureMethod[^>]*)\/>/,
          "$1><ds:HMACOutputLength>8</ds:HMACOutputLength></ds:SignatureMethod>",
        ),
      /must be empty/,
    ],
    ["a reference to everything", () => replaced('URI="#_assertion-1"', 'URI=""'), /own/],
    ["a reference elsewhere", () => replaced('URI="#_assertion-1"', 'URI="#_response-1"'), /own/],
    ["a reference by pointer", () => replaced('URI="#_assertion-1"', "URI=\"#xpointer(id('_assertion-1'))\""), /own/],
    ["two references", () => replaced(/(<ds:Reference .*<\/ds:Reference>)/s, "$1$1"), /one Reference/],
    ["two signed infos", () => replaced(/(<ds:SignedInfo.*<\/ds:SignedInfo>)/s, "$1$1"), /schema|one SignedInfo/],
    ["two signatures", () => replaced(/(<ds:Signature[ >].*<\/ds:Signature>)/s, "$1$1"), /schema|more than one/],
    ["a digest in two parts", () => replaced(/<ds:DigestValue>(.{4})/, "<ds:DigestValue>$1<ds:x/>"), /schema|one text/],
    ["a digest of another length", () => replaced(/<ds:DigestValue>.*?</, "<ds:DigestValue>AAAA<"), /no certificate/],
    ["an empty signature", () => replaced(/<ds:SignatureValue>.*?</, "<ds:SignatureValue><"), /base64|schema/],
    ["text that was changed", () => replaced("ada@", "eve@"), /changed after/],
    [
      "an attribute that was added",
      () => replaced("</saml:AttributeStatement>", '<saml:Attribute Name="b"/></saml:AttributeStatement>'),
      /changed after/,
    ],
    [
      "a statement that was taken out",
      () => replaced(/<saml:AuthnStatement.*<\/saml:AuthnStatement>/s, ""),
      /changed after/,
    ],
    [
      "an issuer that was changed",
      () => replaced(`<saml:Issuer>${expected.issuer}`, `<saml:Issuer>${expected.issuer}/`),
      /changed after/,
    ],
  ])("%s", (_case, make, error) => {
    expect(errorOf(make())).toMatch(error);
  });

  it("is refused whichever bit of it is flipped", () => {
    const xml = whole().replace(/<ds:KeyInfo>.*<\/ds:KeyInfo>/s, "");
    const from = xml.indexOf("<saml:Assertion");
    const to = xml.indexOf("</saml:Assertion>");
    const bytes = Buffer.from(xml);
    const accepted: number[] = [];
    for (let at = from; at < to; at += 7) {
      const turned = Buffer.from(bytes);
      turned[at] = (turned[at] ?? 0) ^ (1 << (at % 7));
      if (errorOf(turned) === null) accepted.push(at);
    }
    expect(accepted).toEqual([]);
  });
});

describe("bytes that a parser must not see are refused before parsing", () => {
  const prolog = (text: string) => `${text}${whole()}`;
  it.each<[string, () => string | Buffer, RegExp]>([
    ["a DOCTYPE", () => prolog('<?xml version="1.0"?><!DOCTYPE a>'), /unread: declarations/],
    ["an entity", () => prolog('<!DOCTYPE a [<!ENTITY e "ada">]>'), /unread/],
    ["an entity from a file", () => prolog('<!DOCTYPE a [<!ENTITY e SYSTEM "file:///etc/passwd">]>'), /unread/],
    [
      "entities in entities",
      () =>
        prolog(
          `<!DOCTYPE a [<!ENTITY a "a">${Array.from({ length: 10 }, (_, n) => `<!ENTITY b${n} "&a;&a;">`).join("")}]>`,
        ),
      /unread/,
    ],
    [
      "a comment in the NameID",
      () => whole().replace("ada@acme.example", "ada@acme.example<!-- -->.evil.test"),
      /unread/,
    ],
    ["a CDATA section", () => whole().replace("ada@acme.example", "<![CDATA[ada@acme.example]]>"), /unread/],
    [
      "a processing instruction",
      () => whole().replace("ada@acme.example", "<?x?>ada@acme.example"),
      /unread: processing/,
    ],
    ["a style sheet", () => prolog('<?xml-stylesheet href="a"?>'), /unread: processing/],
    ["UTF-16", () => Buffer.from(`\ufeff${whole()}`, "utf16le"), /unread: not UTF-8/],
    ["UTF-7 by its declaration", () => prolog('<?xml version="1.0" encoding="UTF-7"?>'), /unread: processing/],
    ["a byte order mark", () => prolog("\ufeff"), /unread: does not begin/],
    [
      "broken UTF-8",
      () => Buffer.concat([Buffer.from("<a>"), Buffer.from([0xc0, 0x80]), Buffer.from("</a>")]),
      /unread: not UTF-8/,
    ],
    ["an overlong document", () => `<a>${"x".repeat(1024 * 1024)}</a>`, /has 1048583 bytes, at most 1048576/],
    ["20,001 elements", () => `<a>${"<b/>".repeat(20_000)}</a>`, /unread: more than 20000 elements/],
    ["33 levels", () => `${"<a>".repeat(33)}${"</a>".repeat(33)}`, /unread: deeper/],
    [
      "65 attributes on one element",
      () => `<a ${Array.from({ length: 65 }, (_, n) => `b${n}="1"`).join(" ")}/>`,
      /unread: more than 64/,
    ],
    [
      "80,001 attributes",
      () => `<a>${`<b ${Array.from({ length: 63 }, (_, n) => `a${n}=""`).join(" ")}/>`.repeat(1_270)}</a>`,
      /unread: more than 80000/,
    ],
    ["a tag without an end", () => "<a b='", /unread: malformed/],
    ["a tag in a tag", () => "<a <b>>", /unread: malformed/],
    ["nothing", () => "", /no SAMLResponse/],
    ["text", () => "hello", /unread: does not begin/],
    ["an undeclared entity", () => whole().replace("ada@", "&ada;"), /not well-formed/],
    ["a control character", () => whole().replace("ada@", "ada\u0001@"), /not well-formed/],
    [
      "a namespace that is no absolute URI",
      () => whole().replace("<saml:AttributeValue>", '<saml:AttributeValue xmlns:r="relative"><r:x/>'),
      /cannot be canonicalised|not well-formed/,
    ],
    [
      "an undeclared prefix",
      () => whole().replace("<saml:AttributeValue>", "<saml:AttributeValue><r:x/>"),
      /not well-formed/,
    ],
    [
      "an element of another version's schema",
      () => whole().replace("<saml:Conditions", "<saml:Conditoins"),
      /not well-formed/,
    ],
    ["an element that SAML does not know", () => responseXml(`${assertionIn(whole())}<samlp:More/>`), /schema/],
  ])("%s", (_case, make, error) => {
    expect(errorOf(make())).toMatch(error);
  });

  it.each([
    ["", /^the form holds no SAMLResponse, or more than one$/],
    ["%%%", /^the response is not base64: its character 1 is U\+0025$/],
    ["YQ", /not whole groups of four/],
    ["YR==", /its last group is not canonical/],
    [" YQ==", /its character 1 is U\+0020/],
    ["YQ==YQ==", /its character 3 is U\+003D/],
    ["=", /not whole groups of four/],
    ["YWJj\u0000", /its character 5 is U\+0000/],
    ["YWJj\u{1f600}", /its character 5 is U\+1F600/],
  ])("is refused when it is %j, which is not base64, with the reason", (text, error) => {
    expect(() => verifyResponse(text, verification(key))).toThrow(SamlRefused);
    expect(() => verifyResponse(text, verification(key))).toThrow(error);
  });

  it("each is refused in little processor time, whatever fits the limits", () => {
    const tag = (n: number) =>
      `<b xmlns:p${n}="urn:p${n}" ${Array.from({ length: 60 }, (_, at) => `p${n}:a${at}="&lt;"`).join(" ")}/>`;
    const nested = (deep: number) =>
      `${Array.from({ length: deep }, (_, n) => `<d${n} xmlns:n${n}="urn:${n}">`).join("")}${Array.from({ length: deep }, (_, n) => `</d${deep - 1 - n}>`).join("")}`;
    const worst = [
      `<a>${Array.from({ length: 60 }, (_, n) => tag(n)).join("")}</a>`,
      `<a>${nested(31).repeat(30)}</a>`,
      `<a>${"<b/>".repeat(999)}</a>`,
      `<a>${"&#65;".repeat(19_000)}</a>`,
      `<a>${"x".repeat(96 * 1024 - 7)}</a>`,
      responseXml(
        assertionXml({
          attributes: `<saml:AttributeStatement>${'<saml:Attribute Name="a"><saml:AttributeValue>x</saml:AttributeValue></saml:Attribute>'.repeat(450)}</saml:AttributeStatement>`,
        }),
      ),
    ];
    expect(errorOf(whole())).toBeNull();
    const units = worst.map((xml) => processorUnits(() => expect(errorOf(xml)).not.toBeNull()));
    expect(Math.max(...units)).toBeLessThan(5);
  });
});

describe("an assertion of another sign-in is refused", () => {
  const conditions = (content: string, { from = minutes(-1), to = minutes(5) } = {}) =>
    `<saml:Conditions NotBefore="${from}" NotOnOrAfter="${to}">${content}</saml:Conditions>`;
  it.each<[string, () => string, RegExp]>([
    [
      "of another issuer",
      () => responseWith({ issuer: "https://other.example" }),
      /another identity provider: "https:\/\/other.example", expected "https:\/\/idp.example\/metadata"/,
    ],
    ["from the future", () => responseWith({ issueInstant: minutes(2) }), /from the future/],
    ["eleven minutes and more old", () => responseWith({ issueInstant: minutes(-12) }), /older than 10/],
    [
      "of a local time",
      () => responseWith({ issueInstant: "2026-03-01T12:00:00" }),
      /IssueInstant must be in UTC and end in Z/,
    ],
    [
      "of a time with an offset",
      () => responseWith({ issueInstant: "2026-03-01T12:00:00+00:00" }),
      /end in Z.*: "2026-03-01T12:00:00\+00:00"$/,
    ],
    [
      "for another address",
      () => responseWith({ confirmation: bearerOf(confirmationData({ Recipient: "https://other.example/acs" })) }),
      /another address/,
    ],
    [
      "for no address",
      () => responseWith({ confirmation: bearerOf(confirmationData({ Recipient: "" })) }),
      /confirmation has no Recipient/,
    ],
    [
      "of another request",
      () => responseWith({ confirmation: bearerOf(confirmationData({ InResponseTo: "_request-2" })) }),
      /another request/,
    ],
    [
      "of no request",
      () => responseWith({ confirmation: bearerOf(confirmationData({ InResponseTo: "" })) }),
      /answers no request/,
    ],
    [
      "that is confirmed too late",
      () => responseWith({ confirmation: bearerOf(confirmationData({ NotOnOrAfter: minutes(-2) })) }),
      /too late/,
    ],
    [
      "that is confirmed for ever",
      () => responseWith({ confirmation: bearerOf(confirmationData({ NotOnOrAfter: "" })) }),
      /NotOnOrAfter of the subject's confirmation is missing/,
    ],
    [
      "that is confirmed later",
      () => responseWith({ confirmation: bearerOf(confirmationData({ NotBefore: minutes(-1) })) }),
      /a NotBefore, which SAML forbids/,
    ],
    ["without a confirmation", () => responseWith({ confirmation: "" }), /no bearer/],
    [
      "for its holder",
      () => responseWith({ confirmation: bearerOf(confirmationData()).replace("bearer", "holder-of-key") }),
      /no bearer/,
    ],
    [
      "for another audience",
      () => responseWith({ conditions: conditions(audience("https://other.example")) }),
      /another audience/,
    ],
    [
      "for two audiences that must both be met",
      () => responseWith({ conditions: conditions(audience(expected.audience) + audience("https://other.example")) }),
      /another audience/,
    ],
    ["for no audience", () => responseWith({ conditions: conditions("") }), /no audience/],
    [
      "for an audience that begins like ours",
      () => responseWith({ conditions: conditions(audience(`${expected.audience}0`)) }),
      /another audience/,
    ],
    [
      "that holds later",
      () => responseWith({ conditions: conditions(audience(expected.audience), { from: minutes(2) }) }),
      /not hold yet/,
    ],
    [
      "that held before",
      () => responseWith({ conditions: conditions(audience(expected.audience), { to: minutes(-2) }) }),
      /any more/,
    ],
    [
      "that holds for ever",
      () => responseWith({ conditions: conditions(audience(expected.audience)).replace(/NotOnOrAfter="[^"]*"/, "") }),
      /NotOnOrAfter of Conditions is missing/,
    ],
    ["without conditions", () => responseWith({ conditions: "" }), /one Conditions/],
    [
      "with a condition of its own",
      () =>
        responseWith({
          conditions: conditions(
            `${audience(expected.audience)}<saml:Condition xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xmlns:x="urn:x" xsi:type="x:mine"/>`,
          ),
        }),
      /schema|condition/,
    ],
    ["without a sign-in", () => responseWith({ statement: "" }), /nothing of a sign-in/],
    [
      "of a session that has ended",
      () =>
        responseWith({
          statement: `<saml:AuthnStatement AuthnInstant="${minutes(-9)}" SessionNotOnOrAfter="${minutes(-2)}"><saml:AuthnContext><saml:AuthnContextClassRef>urn:x</saml:AuthnContextClassRef></saml:AuthnContext></saml:AuthnStatement>`,
        }),
      /session has ended/,
    ],
    ["without a NameID", () => responseWith({ nameId: "" }), /no NameID: .* subjectAttribute/],
    ["with an empty NameID", () => responseWith({ nameId: "<saml:NameID> </saml:NameID>" }), /1 to 1024/],
    [
      "with a NameID that is made up each time",
      () =>
        responseWith({
          nameId: '<saml:NameID Format="urn:oasis:names:tc:SAML:2.0:nameid-format:transient">x</saml:NameID>',
        }),
      /transient/,
    ],
    [
      "with a second NameID in its confirmation",
      () => responseWith({ confirmation: bearerOf(`<saml:NameID>eve</saml:NameID>${confirmationData()}`) }),
      /one NameID/,
    ],
    ["of SAML 1.1", () => responseWith({ version: "1.1" }), /not of SAML 2.0/],
  ])("%s", (_case, make, error) => {
    expect(errorOf(make())).toMatch(error);
  });

  it.each<[string, Parameters<typeof responseXml>[1], RegExp]>([
    ["for another address", { attributes: { Destination: "https://other.example/acs" } }, /another address/],
    ["for no address", { attributes: { Destination: "" } }, /has no Destination/],
    ["to another request", { attributes: { InResponseTo: "_request-2" } }, /another request/],
    ["that is unsolicited", { attributes: { InResponseTo: "" } }, /no InResponseTo/],
    ["of another version", { attributes: { Version: "1.1" } }, /not of SAML 2.0/],
    [
      "of another issuer",
      { issuer: `<saml:Issuer xmlns:saml="${assertionNs}">https://other.example</saml:Issuer>` },
      /another identity provider: "https:\/\/other.example", expected/,
    ],
  ])("in a response %s", (_case, change, error) => {
    expect(errorOf(responseXml(assertionIn(whole()), change))).toMatch(error);
  });

  it.each<[string, Partial<typeof expected>]>([
    ["another organization's provider", { audience: `${expected.audience.slice(0, -1)}2` }],
    [
      "another deployment",
      {
        audience: expected.audience.replace("muster", "other"),
        recipient: expected.recipient.replace("muster", "other"),
      },
    ],
    ["another sign-in of the same provider", { requestId: "_request-2" }],
    ["another identity provider", { issuer: "https://other.example" }],
  ])("at %s", (_case, change) => {
    expect(errorOf(whole(), { expected: { ...expected, ...change } })).not.toBeNull();
  });

  it("is refused at another time", () => {
    expect(errorOf(whole(), { now: new Date(now.getTime() + 5.9 * 60_000) })).toBeNull();
    for (const count of [6.1, 60, -2, -60]) {
      expect(errorOf(whole(), { now: new Date(now.getTime() + count * 60_000) })).not.toBeNull();
    }
  });

  it("is refused as a message of another kind", () => {
    const logout = `<samlp:LogoutRequest xmlns:samlp="${protocolNs}" xmlns:saml="${assertionNs}" ID="_l" Version="2.0" IssueInstant="${minutes(0)}"><saml:NameID>ada</saml:NameID></samlp:LogoutRequest>`;
    expect(errorOf(logout)).toMatch(/no SAML response/);
  });

  it("is refused when the provider reports a failed authentication", () => {
    const status =
      '<samlp:Status><samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:Responder"><samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:AuthnFailed"/></samlp:StatusCode></samlp:Status>';
    const refused = () => verifyResponse(posted(responseXml("", { status })), verification(key));
    expect(refused).toThrow(SamlStatus);
    expect(refused).toThrow("Responder, AuthnFailed");
  });
});
