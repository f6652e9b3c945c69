import "reflect-metadata";
import { webcrypto } from "node:crypto";
import { createServer } from "node:https";
import { listening, testCertificate } from "@muster/testing";
import { X509CertificateGenerator } from "@peculiar/x509";
import samlp from "samlp";
import { type Cluster, receiverHost } from "./cluster.ts";
import { claimReceiverPort } from "./receiver.ts";

export type SamlAccount = { nameId: string; email: string; name: string };
export type SamlIdp = Awaited<ReturnType<typeof startSamlIdp>>;

/** What the identity provider is asked, as it understood it. */
type SamlRequest = { id?: string; issuer?: string; assertionConsumerServiceURL?: string };

/** A key that assertions are signed with, and its certificate. */
export async function newSigningKey() {
  const algorithm = {
    name: "RSASSA-PKCS1-v1_5",
    modulusLength: 2_048,
    publicExponent: new Uint8Array([1, 0, 1]),
    hash: "SHA-256",
  };
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const notBefore = new Date(Date.now() - 86_400_000);
  const notAfter = new Date(Date.now() + 365 * 86_400_000);
  const certificate = await X509CertificateGenerator.createSelfSigned(
    { name: "CN=A SAML provider", keys, notBefore, notAfter, signingAlgorithm: algorithm },
    webcrypto as Parameters<typeof X509CertificateGenerator.createSelfSigned>[1],
  );
  const der = Buffer.from(await webcrypto.subtle.exportKey("pkcs8", keys.privateKey));
  const lines = der
    .toString("base64")
    .replaceAll(/(.{64})/g, "$1\n")
    .trimEnd();
  return {
    key: `-----BEGIN PRIVATE KEY-----\n${lines}\n-----END PRIVATE KEY-----\n`,
    certificate: certificate.toString("pem"),
  };
}

/** A SAML identity provider over HTTPS that signs whoever is to sign in without asking, and serves its metadata. */
export async function startSamlIdp(cluster: Cluster) {
  const { port, release } = await claimReceiverPort(cluster);
  const origin = `https://${receiverHost}:${port}`;
  const entityId = `${origin}/metadata`;
  let current: SamlAccount = { nameId: "", email: "", name: "" };
  let signing = await newSigningKey();
  let change: (options: Record<string, unknown>) => Record<string, unknown> = (options) => options;

  /** A signed response to a request, as another library makes it. */
  const respond = async (request: SamlRequest): Promise<string> => {
    const { nameId, email, name } = current;
    const options = change({
      issuer: entityId,
      cert: signing.certificate,
      key: signing.key,
      audience: request.issuer,
      recipient: request.assertionConsumerServiceURL,
      destination: request.assertionConsumerServiceURL,
      inResponseTo: request.id,
      signatureAlgorithm: "rsa-sha256",
      digestAlgorithm: "sha256",
      lifetimeInSeconds: 300,
      nameIdentifierFormat: "urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress",
    });
    const person = {
      id: nameId,
      emails: [{ value: email }],
      displayName: name,
      name: { givenName: "", familyName: "" },
    };
    const xml = await new Promise<string>((resolve, reject) =>
      samlp.getSamlResponse(options, person, (error, made) => (error ? reject(error) : resolve(made))),
    );
    return Buffer.from(xml).toString("base64");
  };

  const parsed = (url: string) =>
    new Promise<{ request: SamlRequest; relayState: string }>((resolve, reject) => {
      const query = Object.fromEntries(new URL(url, origin).searchParams);
      samlp.parseRequest({ method: "GET", query }, {}, (error, request) =>
        error ? reject(error) : resolve({ request, relayState: query.RelayState ?? "" }),
      );
    });

  const server = createServer(testCertificate(), (incoming, response) => {
    const answer = async () => {
      if (incoming.url === "/metadata") {
        response.setHeader("content-type", "application/samlmetadata+xml");
        response.end(metadata());
        return;
      }
      const { request, relayState } = await parsed(incoming.url ?? "");
      const field = (name: string, value: string) => `<input type="hidden" name="${name}" value="${value}">`;
      const fields = `${field("SAMLResponse", await respond(request))}${field("RelayState", relayState)}`;
      response.setHeader("content-type", "text/html");
      response.end(`<form method="post" action="${request.assertionConsumerServiceURL}">${fields}</form>`);
    };
    answer().catch((error: unknown) => response.destroy(error as Error));
  });
  const metadata = () => {
    const bare = signing.certificate.replaceAll(/-----[A-Z ]+-----|\s/g, "");
    return `<EntityDescriptor xmlns="urn:oasis:names:tc:SAML:2.0:metadata" entityID="${entityId}"><IDPSSODescriptor protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol"><KeyDescriptor use="signing"><KeyInfo xmlns="http://www.w3.org/2000/09/xmldsig#"><X509Data><X509Certificate>${bare}</X509Certificate></X509Data></KeyInfo></KeyDescriptor><SingleSignOnService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect" Location="${origin}/sso"/></IDPSSODescriptor></EntityDescriptor>`;
  };
  const { close } = await listening(server, port);
  return {
    entityId,
    metadataUrl: entityId,
    metadata,
    ssoUrl: `${origin}/sso`,
    certificate: () => signing.certificate,
    respond,
    parsed,
    /** Who signs in from now on. */
    become(account: SamlAccount) {
      current = account;
    },
    /** How the library's options differ from now on; nothing to end that. */
    alter(next: typeof change = (options) => options) {
      change = next;
    },
    async rotate() {
      signing = await newSigningKey();
    },
    async close() {
      server.closeAllConnections();
      await close();
      await release();
    },
  };
}
