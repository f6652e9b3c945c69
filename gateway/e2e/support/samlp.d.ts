/** The part of samlp (which has no types) that the tests use. */
declare module "samlp" {
  type Done<T> = (error: Error | null, made: T) => void;
  const samlp: {
    getSamlResponse(options: Record<string, unknown>, user: Record<string, unknown>, done: Done<string>): void;
    parseRequest(
      request: { method: string; query: Record<string, string> },
      options: Record<string, unknown>,
      done: Done<{ id?: string; issuer?: string; assertionConsumerServiceURL?: string }>,
    ): void;
  };
  export default samlp;
}
