// Sign-in providers and directories of the example fleet's first customer.
import { execFileSync } from "node:child_process";

/** A directory's request as its product sends it. */
const scim = (url, token, path, body) =>
  fetch(`${url}/api/v1/scim/v2/${path}`, {
    method: body ? "POST" : "GET",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/scim+json" },
    ...(body ? { body: JSON.stringify({ schemas: ["urn:ietf:params:scim:schemas:core:2.0:User"], ...body }) } : {}),
  });

/** As a directory sends a person. */
function userOf(givenName, familyName) {
  const email = `${givenName}.${familyName}@globex.example`.toLowerCase();
  return {
    externalId: email,
    userName: email,
    active: true,
    displayName: `${givenName} ${familyName}`,
    name: { givenName, familyName },
    emails: [{ primary: true, type: "work", value: email }],
  };
}

/**
 * A directory that has sent its people, one whose requests are refused, one that is paused, one that sent none and one
 * whose groups come with sign-ins.
 */
export async function directoriesOf(url, call, orgs) {
  const { orgId } = orgs.Globex;
  const { data: roles } = await call("GET", `/roles?orgId=${orgId}`);
  const defaultRoleId = roles.find(({ name }) => name === "Technician")?.id;
  const make = (name, preset) => call("POST", "/directories", { orgId, name, preset, defaultRoleId });
  await make("Warehouse", "okta");
  await make("Google Workspace", "google");
  const contractors = await make("Contractors", "onelogin");
  await scim(url, contractors.token, "Users?count=1");
  await call("POST", `/directories/${contractors.id}/status`, { status: "paused" });
  const entra = await make("Entra ID", "entra");
  for (const [givenName, familyName] of [
    ["Mio", "Tanaka"],
    ["Lea", "Fischer"],
    ["Tom", "Okafor"],
  ]) {
    await scim(url, entra.token, "Users", userOf(givenName, familyName));
  }
  const stores = await make("Okta of the stores", "okta");
  // Its mapping has no user name: each of its requests is refused.
  for (const externalId of ["00u1", "00u2", "00u3"]) {
    await scim(url, stores.token, "Users", { externalId, active: true });
  }
}

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
