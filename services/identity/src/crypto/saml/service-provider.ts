import { BoundedMap } from "@muster/rpc";
import { IdentityProvider, ServiceProvider } from "samlify";

const binding = "urn:oasis:names:tc:SAML:2.0:bindings";

/** We as one identity provider knows us. */
export type OwnEntity = {
  /** Our entity id and audience, which is also the address of our metadata. */
  entityId: string;
  acsUrl: string;
  /** PEM, of the key that signs requests. */
  certificate: string;
  /** PEM, of the key that takes over next. */
  nextCertificate: string | null;
  signsRequests: boolean;
  wantsEncrypted: boolean;
  /** Format of the NameIDs that we ask for. */
  nameIdFormat: string;
};

const serviceProvider = (
  { entityId, acsUrl, certificate, signsRequests, nameIdFormat }: OwnEntity,
  privateKey?: string,
) =>
  ServiceProvider({
    entityID: entityId,
    authnRequestsSigned: signsRequests,
    wantAssertionsSigned: true,
    nameIDFormat: [nameIdFormat],
    assertionConsumerService: [{ Binding: `${binding}:HTTP-POST`, Location: acsUrl, isDefault: true }],
    ...(signsRequests ? { signingCert: certificate } : {}),
    ...(privateKey === undefined ? {} : { privateKey }),
    requestSignatureAlgorithm: "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256",
  });

type Idp = { entityId: string; ssoUrl: string };
type Pair = { provider: ReturnType<typeof IdentityProvider>; us: ReturnType<typeof ServiceProvider> };

/** The library writes and parses metadata for each entity, about 10 ms of CPU: too expensive per anonymous request. */
const pairs = new BoundedMap<string, Pair>(500);

function pairOf(own: OwnEntity, idp: Idp, privateKey: string): Pair {
  const signing = own.signsRequests ? privateKey : undefined;
  const key = JSON.stringify([own, idp, signing]);
  const cached = pairs.get(key);
  if (cached) return cached;
  const provider = IdentityProvider({
    entityID: idp.entityId,
    wantAuthnRequestsSigned: own.signsRequests,
    singleSignOnService: [{ Binding: `${binding}:HTTP-Redirect`, Location: idp.ssoUrl }],
    // Not used: without one the library prints a warning at each sign-in.
    singleLogoutService: [{ Binding: `${binding}:HTTP-Redirect`, Location: idp.ssoUrl }],
  });
  const pair = { provider, us: serviceProvider(own, signing) };
  pairs.set(key, pair);
  return pair;
}

/**
 * The redirect URL for sign-in (HTTP-Redirect binding), and the id that the response must name. `privateKey`, when set,
 * signs the request.
 */
export function authnRequest(
  own: OwnEntity,
  idp: Idp,
  { state, privateKey }: { state: string; privateKey: string },
): { url: string; requestId: string } {
  const { provider, us } = pairOf(own, idp, privateKey);
  const { id, context } = us.createLoginRequest(provider, "redirect", { relayState: state });
  return { url: context, requestId: id };
}
