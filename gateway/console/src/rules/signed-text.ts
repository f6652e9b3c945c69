type Signing = { hasSecret: boolean; asymmetricSignature: boolean };

/** By what a webhook's deliveries are signed. */
export const signedText = ({ hasSecret, asymmetricSignature }: Signing): string => {
  const by = [...(hasSecret ? ["a secret"] : []), ...(asymmetricSignature ? ["a key pair"] : [])];
  return by.length === 0 ? "no" : `by ${by.join(" and ")}`;
};
