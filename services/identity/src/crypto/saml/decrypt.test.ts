import { createPrivateKey, type KeyObject } from "node:crypto";
import { beforeAll, describe, expect, it } from "@jest/globals";
import { SamlRefused } from "../../rules/sso/saml/refused.ts";
import {
  assertionXml,
  encrypted,
  posted,
  responseXml,
  signed,
  type TestKey,
  testKey,
  verification,
} from "../../testing/saml.ts";
import { contentCiphers, oaep, oaepDigests, offeredMethods } from "./encryption-methods.ts";
import { verifyResponse } from "./verify-response.ts";

let idp: TestKey;
let ours: TestKey;
let other: TestKey;
let decryption: KeyObject;
beforeAll(async () => {
  [idp, ours, other] = await Promise.all([testKey(), testKey(), testKey()]);
  decryption = createPrivateKey(ours.privateKey);
});

const assertion = () => signed(assertionXml(), idp);
const one = /^the assertion cannot be decrypted: RSA-OAEP with AES-GCM/;

function resultOf(content: string, keys: KeyObject[] | null = [decryption]): string {
  try {
    return verifyResponse(posted(responseXml(content)), verification(idp, { decryption: keys })).nameId?.value ?? "";
  } catch (error) {
    if (!(error instanceof SamlRefused)) throw error;
    return error.detail;
  }
}

describe("an encrypted assertion", () => {
  it("is read when it was encrypted for us and signed before encryption", () => {
    expect(resultOf(encrypted(assertion(), ours.certificate.pem))).toBe("ada@acme.example");
  });

  it.each(
    Object.keys(contentCiphers).flatMap((content) =>
      offeredMethods
        .filter(({ algorithm }) => algorithm !== content && !(algorithm in contentCiphers))
        .map((transport) => ({ content, transport })),
    ),
  )("is read by every pair of methods that our metadata offers: $content, $transport", ({ content, transport }) => {
    const { algorithm, digest = "", mask } = transport;
    const xml = encrypted(assertion(), ours.certificate.pem, {
      content,
      transport: algorithm,
      digest,
      ...(mask ? { mask } : {}),
      hash: oaepDigests[digest] ?? "sha1",
    });
    expect(resultOf(xml)).toBe("ada@acme.example");
  });

  it("is read while our key is renewed, whichever of both it was encrypted for", () => {
    const next = createPrivateKey(other.privateKey);
    for (const { certificate } of [ours, other]) {
      expect(resultOf(encrypted(assertion(), certificate.pem), [decryption, next])).toBe("ada@acme.example");
    }
    expect(resultOf(encrypted(assertion(), idp.certificate.pem), [decryption, next])).toMatch(one);
  });

  it("is read when the methods have no parameters", () => {
    for (const transport of Object.values(oaep).filter((uri) => uri.includes("rsa-oaep"))) {
      expect(resultOf(encrypted(assertion(), ours.certificate.pem, { transport }))).toBe("ada@acme.example");
    }
  });

  it.each<[string, () => string]>([
    ["for another's certificate", () => encrypted(assertion(), other.certificate.pem)],
    [
      "with AES-CBC",
      () => encrypted(assertion(), ours.certificate.pem, { content: "http://www.w3.org/2001/04/xmlenc#aes256-cbc" }),
    ],
    [
      "with RSA 1.5",
      () =>
        encrypted(assertion(), ours.certificate.pem, {
          transport: "http://www.w3.org/2001/04/xmlenc#rsa-1_5",
          isPkcs1: true,
        }),
    ],
    ["with RSA 1.5 under the name of OAEP", () => encrypted(assertion(), ours.certificate.pem, { isPkcs1: true })],
    [
      "with a cipher that every object has",
      () => encrypted(assertion(), ours.certificate.pem).replace(/Algorithm="[^"]*gcm"/, 'Algorithm="toString"'),
    ],
    [
      "and changed",
      () =>
        encrypted(assertion(), ours.certificate.pem).replace(
          /.{8}<\/xenc:CipherValue><\/xenc:CipherData><\/xenc:EncryptedData>/,
          "AAAAAAA=</xenc:CipherValue></xenc:CipherData></xenc:EncryptedData>",
        ),
    ],
    [
      "without a key",
      () =>
        encrypted(assertion(), ours.certificate.pem).replace(
          /<xenc:EncryptedKey>.*<\/xenc:EncryptedKey>/s,
          "<ds:KeyName>x</ds:KeyName>",
        ),
    ],
  ])("%s is refused, with the same text as every other", (_case, make) => {
    expect(resultOf(make())).toMatch(one);
  });

  it.each<[string, () => string, RegExp]>([
    ["and holds a DOCTYPE", () => `<!DOCTYPE a [<!ENTITY e "x">]>${assertion()}`, /unread/],
    ["and holds two assertions", () => `<a>${assertion()}${assertion()}</a>`, /schema|one assertion/],
    ["and is not signed inside", () => assertionXml(), /not signed/],
    ["and is signed by another inside", () => signed(assertionXml(), other), /no certificate/],
    ["and holds an encrypted one", () => encrypted(assertion(), ours.certificate.pem), /twice|schema|not signed/],
  ])("%s is refused", (_case, make, error) => {
    expect(resultOf(encrypted(make(), ours.certificate.pem))).toMatch(error);
  });

  it("is refused where none is expected, and a plain one where an encrypted one is expected", () => {
    expect(resultOf(encrypted(assertion(), ours.certificate.pem), null)).toMatch(/encrypted, which is not set/);
    expect(resultOf(assertion())).toMatch(/not encrypted/);
  });
});
