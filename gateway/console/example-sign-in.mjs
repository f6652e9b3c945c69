// Sign-in providers of the example fleet's first customer.
import { execFileSync } from "node:child_process";

/** Metadata of a provider whose certificate ends after so many days. */
function metadataOf(host, days) {
  const subject = ["-subj", `/CN=${host}`, "-days", `${days}`];
  const key = ["-newkey", "rsa:2048", "-nodes", "-keyout", "/dev/null"];
  const pem = execFileSync("openssl", ["req", "-x509", ...key, ...subject], { stdio: ["ignore", "pipe", "ignore"] });
  const certificate = pem.toString().replaceAll(/-----[A-Z ]+-----|\s/g, "");
  return `<EntityDescriptor xmlns="urn:oasis:names:tc:SAML:2.0:metadata" entityID="https://${host}/saml"><IDPSSODescriptor protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol"><KeyDescriptor use="signing"><KeyInfo xmlns="http://www.w3.org/2000/09/xmldsig#"><X509Data><X509Certificate>${certificate}</X509Certificate></X509Data></KeyInfo></KeyDescriptor><SingleSignOnService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect" Location="https://${host}/sso"/></IDPSSODescriptor></EntityDescriptor>`;
}

/** Two providers in use, one whose certificate ends in twelve days, one that is tried out, one that is unfinished. */
export async function providersOf(call, orgs) {
  const { orgId } = orgs.Globex;
  const workspace = { name: "Google Workspace", type: "oidc", preset: "oidc-workspace", clientId: "globex-muster" };
  await call("POST", "/sso/providers", { orgId, ...workspace });
  for (const [name, preset, host, days, status] of [
    ["Suppliers ADFS", "saml-adfs", "adfs.suppliers.example", 700, "testing"],
    ["Okta of the stores", "saml-workforce", "stores.okta.example", 410, "active"],
    ["Globex Entra", "saml-directory", "login.globex.example", 12, "active"],
  ]) {
    const samlMetadataXml = metadataOf(host, days);
    const { id } = await call("POST", "/sso/providers", { orgId, name, type: "saml", preset, samlMetadataXml });
    await call("POST", `/sso/providers/${id}/status`, { status });
  }
  for (const domain of ["globex.example", "stores.globex.example"])
    await call("POST", "/sso/domains", { orgId, domain });
}
