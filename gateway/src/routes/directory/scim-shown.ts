import { locationLine, weakEntityTag } from "@muster/kit";
import type { z } from "zod";
import type { Services } from "../../clients/services.ts";
import { scimType } from "../../http/scim-errors.ts";
import { Answered, Rendered, Streamed } from "../../route/reply.ts";
import type { RouteRequest } from "../../route/route.ts";
import { groupFrom, includesMembers } from "./scim-replies.ts";
import type { Kind, shownQuery } from "./scim-shapes.ts";

type Shown = z.output<typeof shownQuery>;
type Request<P, Q> = Pick<RouteRequest<{ auth: "directory" }, P, Q>, "session" | "params" | "query" | "rpc">;

export const json = (document: string) => new Rendered(document, scimType);

/** A resource with its version; the members of a group are read and sent in pages. */
export async function shown(
  kind: Kind,
  status: 200 | 201,
  request: Request<{ id: string }, Shown>,
  services: Services,
  message: { json: string; location: string; version: bigint } | undefined,
): Promise<Answered> {
  if (!message) throw new Error("identity answered without a resource");
  const etag = weakEntityTag(message.version);
  const lines = ["ETag", etag, ...(status === 201 ? locationLine(message.location) : [])];
  if (kind === "User" || !includesMembers(request.query)) return new Answered(status, lines, json(message.json));
  const { session, params, rpc } = request;
  const pageAfter = async (after: string) =>
    services.scim.listScimMembers({ digest: session.digest, id: params.id, after }, await rpc());
  const first = await pageAfter("");
  const pieces = groupFrom(message.json, first, pageAfter);
  if (first.next !== "") return new Answered(status, lines, new Streamed(scimType, [], pieces));
  const parts: Uint8Array[] = [];
  for await (const piece of pieces) parts.push(piece);
  return new Answered(status, lines, json(Buffer.concat(parts).toString()));
}
