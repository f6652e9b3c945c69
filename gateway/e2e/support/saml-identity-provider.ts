import { createServer } from "node:https";
import { listening, testCertificate } from "@muster/testing";
import { newSigningKey } from "@muster/testing/signing-key";
import samlp from "samlp";
import { type Cluster, receiverHost } from "./cluster.ts";
import { claimReceiverPort } from "./receiver.ts";

export type SamlAccount = { nameId: string; email: string; name: string };
export type SamlIdp = Awaited<ReturnType<typeof startSamlIdp>>;

/** A request to the identity provider, as it parsed it. */
type SamlRequest = { id?: string; issuer?: string; assertionConsumerServiceURL?: string };

/** A SAML identity provider over HTTPS that signs in the configured user without a prompt, and serves its metadata. */
export async function startSamlIdp(cluster: Cluster) {
  const { port, release } = await claimReceiverPort(cluster);
  const origin = `https://${receiverHost}:${port}`;
  const entityId = `${origin}/metadata`;
  let current: SamlAccount = { nameId: "", email: "", name: "" };
  let signing = await newSigningKey();
  let served: string | Buffer | null = null;
  let change: (options: Record<string, unknown>) => Record<string, unknown> = (options) => options;

  /** A signed response to a request, as another library makes it. */
  const respond = async (request: SamlRequest): Promise<string> => {
    const { nameId, email, name } = current;
    const options = change({
      issuer: entityId,
      cert: signing.certificate,
      key: signing.privateKey,
      audience: request.issuer,
      recipient: request.assertionConsumerServiceURL,
      destination: request.assertionConsumerServiceURL,
      inResponseTo: request.id,
      signatureAlgorithm: "rsa-sha256",
      digestAlgorithm: "sha256",
      lifetimeInSeconds: 300,
      nameIdentifierFormat: "urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress",
    });
    const user = {
      id: nameId,
      emails: [{ value: email }],
      displayName: name,
      name: { givenName: "", familyName: "" },
    };
    const xml = await new Promise<string>((resolve, reject) =>
      samlp.getSamlResponse(options, user, (error, made) => (error ? reject(error) : resolve(made))),
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
        response.end(served ?? metadata());
        return;
      }
      const { request, relayState } = await parsed(incoming.url ?? "");
      const field = (name: string, value: string) => `<input type="hidden" name="${name}" value="${value}">`;
      const fields = `${field("SAMLResponse", await respond(request))}${field("RelayState", relayState)}`;
      response.setHeader("content-type", "text/html");
      const form = `<form method="post" action="${request.assertionConsumerServiceURL}">${fields}</form>`;
      response.end(`<!doctype html><title>Signed in</title>${form}<script>document.forms[0].submit()</script>`);
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
    /** Sets the account that signs in from now on. */
    become(account: SamlAccount) {
      current = account;
    },
    /** Changes the library's options from now on; no argument restores them. */
    alter(next: typeof change = (options) => options) {
      change = next;
    },
    /** Serves this in place of the metadata from now on; no argument restores it. */
    publish(document: string | Buffer | null = null) {
      served = document;
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
