import { nkeys } from "nats";

/** A new NATS user: the seed stays with the service, the public key goes into the server's permission file. */
export function generateNkey(): { seed: string; publicKey: string } {
  const pair = nkeys.createUser();
  return { seed: new TextDecoder().decode(pair.getSeed()), publicKey: pair.getPublicKey() };
}
