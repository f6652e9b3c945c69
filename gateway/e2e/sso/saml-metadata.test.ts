import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { ownTenant } from "../support/own-tenant.ts";
import { type SamlIdp, startSamlIdp } from "../support/saml-identity-provider.ts";

const { cluster, call } = ownTenant();
let idp: SamlIdp;
beforeAll(async () => {
  idp = await startSamlIdp(cluster);
}, 90_000);
afterAll(() => idp?.close());

const create = (fields: object) => call("POST", "/sso/providers", { name: "Imported", type: "saml", ...fields });

/** What an import ended with, whichever way the document came. */
async function outcomeOf(fields: object) {
  const { status, body } = await create(fields);
  if (status === 201) await call("DELETE", `/sso/providers/${body.id}`);
  const { samlEntityId, samlSsoUrl, samlCertificates, code, reason } = body;
  return { status, samlEntityId, samlSsoUrl, samlCertificates, code, reason };
}

const declared = (encoding: string) => `<?xml version="1.0" encoding="${encoding}"?>`;

describe("a document of metadata ends alike by URL and as text", () => {
  it.each<[string, (xml: string) => string, number]>([
    ["with a byte order mark", (xml) => `\ufeff${xml}`, 201],
    ["after a line break", (xml) => `\n${declared("utf-8")}${xml}`, 201],
    ["with line breaks and blanks around it", (xml) => `\ufeff \r\n${xml}\r\n `, 201],
    ["declared in capitals", (xml) => `${declared("UTF-8")}\r\n${xml}`, 201],
    ["declared as UTF-16", (xml) => `${declared("utf-16")}${xml}`, 201],
    ["declared as another encoding", (xml) => `${declared("ISO-8859-1")}${xml}`, 201],
    ["of an encoding that is not accepted", (xml) => `${declared("EBCDIC-CP-BE")}${xml}`, 400],
    ["of nearly 1 MiB", (xml) => xml.replace("><", `>${" ".repeat(1_040_000)}<`), 201],
    ["with a DOCTYPE", (xml) => `<!DOCTYPE a>${xml}`, 400],
    ["with a control character", (xml) => xml.replace("><", ">\u0001<"), 400],
    ["that is cut", (xml) => xml.slice(0, -9), 400],
    ["that is no metadata", () => "<a/>", 400],
    ["of another language", () => "<!doctype html><title>Sign in</title>", 400],
  ])("%s", async (_case, make, status) => {
    const document = make(idp.metadata());
    idp.publish(document);
    const byUrl = await outcomeOf({ samlMetadataUrl: idp.metadataUrl });
    idp.publish();
    expect(byUrl).toEqual(await outcomeOf({ samlMetadataXml: document }));
    expect(byUrl).toMatchObject(
      status === 201 ? { status, samlEntityId: idp.entityId } : { status, code: "saml_metadata_invalid" },
    );
  });

  it("also in UTF-16 bytes, as some products save the file", async () => {
    idp.publish(Buffer.from(`\ufeff${declared("utf-16")}${idp.metadata()}`, "utf16le"));
    expect(await outcomeOf({ samlMetadataUrl: idp.metadataUrl })).toMatchObject({
      status: 201,
      samlEntityId: idp.entityId,
    });
    idp.publish();
  });
});

describe("metadata as products write it", () => {
  const good = () => idp.metadata().replace(/.*(<IDPSSODescriptor.*<\/IDPSSODescriptor>).*/s, "$1");
  const broken = '<KeyDescriptor use="signing"/>';

  it("is accepted, and the reply says what was left out, until other metadata takes its place", async () => {
    const xml = `<!-- by hand -->${idp.metadata().replace("<KeyDescriptor", `${broken}<KeyDescriptor`)}`;
    const { status, body } = await create({ samlMetadataXml: xml });
    expect([status, body.samlMetadataOmitted]).toEqual([201, ["Signing key 1: Has no X509Certificate"]]);
    expect((await call("GET", `/sso/providers/${body.id}`)).body.samlMetadataOmitted).toEqual(body.samlMetadataOmitted);
    const changed = await call("PATCH", `/sso/providers/${body.id}`, { samlMetadataXml: idp.metadata() });
    expect([changed.status, changed.body.samlMetadataOmitted]).toEqual([200, []]);
    await call("DELETE", `/sso/providers/${body.id}`);
  });

  it("with several identity providers is read for the one that `samlEntityId` names", async () => {
    const entity = (id: string) =>
      `<EntityDescriptor xmlns="urn:oasis:names:tc:SAML:2.0:metadata" entityID="${id}">${good()}</EntityDescriptor>`;
    const xml = `<EntitiesDescriptor xmlns="urn:oasis:names:tc:SAML:2.0:metadata">${entity("urn:a")}${entity("urn:b")}</EntitiesDescriptor>`;
    expect(await outcomeOf({ samlMetadataXml: xml })).toMatchObject({
      status: 400,
      reason: expect.stringMatching(/urn:a, urn:b/),
    });
    expect(await outcomeOf({ samlMetadataXml: xml, samlEntityId: "urn:b" })).toMatchObject({
      status: 201,
      samlEntityId: "urn:b",
      samlSsoUrl: idp.ssoUrl,
    });
  });
});
