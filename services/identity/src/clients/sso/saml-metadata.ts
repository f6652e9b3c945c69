import { type Egress, guardedRequest } from "@muster/egress";
import { metadataLimits } from "../../rules/sso/saml/byte-limits.ts";
import { discoveryFailed, reasonOf } from "./discovery.ts";

const totalMs = 10_000;

/** The metadata behind a URL, at most 1 MiB. Throws `sso_discovery_failed` with `step` fetch or status. */
export async function fetchMetadata(egress: Egress, url: string): Promise<Buffer> {
  try {
    const reply = await guardedRequest(egress, url, {
      headers: { accept: "application/samlmetadata+xml, application/xml, text/xml" },
      maxBytes: metadataLimits.bytes,
      totalMs,
    });
    if (reply.status !== 200) {
      reply.body.on("error", () => undefined).destroy();
      throw discoveryFailed("status", `the metadata answered ${reply.status}`);
    }
    const pieces: Buffer[] = [];
    for await (const piece of reply.body) pieces.push(piece as Buffer);
    return Buffer.concat(pieces);
  } catch (error) {
    if (error instanceof Error && error.name === "AppError") throw error;
    throw discoveryFailed("fetch", reasonOf(error), error);
  }
}
