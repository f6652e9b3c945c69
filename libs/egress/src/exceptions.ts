import { parseAddress } from "./address.ts";

/** Origins that tests may reach, each with its one address. */
export type Exceptions = ReadonlyMap<string, string>;

export const noExceptions: Exceptions = new Map();

const shape = /^(?:(https?):\/\/)?([a-z0-9.-]+):(\d{1,5})=([0-9a-f.:]+)$/;

/**
 * Parses `EGRESS_TEST_EXCEPTIONS`: `[scheme://]name:port=address[,…]`, https when no scheme is named. Nothing else is
 * loosened. Throws on anything it does not understand, and on any exception at all in production.
 */
export function parseExceptions(text: string, nodeEnv: string): Exceptions {
  const items = text
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== "");
  if (items.length > 0 && nodeEnv === "production") {
    throw new Error("EGRESS_TEST_EXCEPTIONS is set: not with NODE_ENV=production");
  }
  return new Map(
    items.map((item) => {
      const [, scheme = "https", name = "", port = "", address = ""] = shape.exec(item) ?? [];
      if (name === "" || Number(port) > 65_535 || !parseAddress(address)) {
        throw new Error(`EGRESS_TEST_EXCEPTIONS: "${item}" is not [scheme://]name:port=address`);
      }
      return [`${scheme}://${name}:${Number(port)}`, address] as const;
    }),
  );
}
