import { Resolver } from "node:dns/promises";
import { codeOf } from "@muster/kit";

/** Texts of the TXT records of a name; empty when there are none. Rejects when no answer came. */
export type TxtRecords = (name: string) => Promise<string[]>;

const timeoutMs = 3_000;

/** Queries name servers with c-ares, by default the system's; `servers` is address[:port], comma-separated. */
export function txtRecords(servers: string): TxtRecords {
  const resolver = new Resolver({ timeout: timeoutMs, tries: 1 });
  const named = servers.split(",").flatMap((each) => each.trim() || []);
  if (named.length > 0) resolver.setServers(named);
  return async (name) => {
    try {
      return (await resolver.resolveTxt(name)).map((pieces) => pieces.join(""));
    } catch (error) {
      const code = codeOf(error);
      if (code === "ENOTFOUND" || code === "ENODATA") return [];
      throw error;
    }
  };
}
