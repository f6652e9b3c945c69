import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import { AppError, type CallContext, isUuid } from "@muster/kit";
import type { ScimService } from "@muster/proto/muster/identity/v1/scim_pb";
import { callContext } from "@muster/rpc";
import { checked } from "../commands/directory/client.ts";
import type { DirectoryDeps } from "../deps.ts";
import { refusedBy } from "../emits/request-log.ts";
import { findClient } from "../store/directory/clients.ts";

type Handlers = Pick<ServiceImpl<typeof ScimService>, "resolveDirectory" | "noteScimRefusal">;

/** Directories for the limits of gateways, and what these refuse. */
export const scimAdmission = ({ db, requests }: Pick<DirectoryDeps, "db" | "requests">): Handlers => ({
  async resolveDirectory({ digest, operation }, handler) {
    const { requestId } = calledBy(handler).meta;
    const found = await findClient(db, digest);
    try {
      const { id, token_id, name, partner_id, org_id } = checked(found);
      return { directoryId: id, tokenId: token_id, name, partnerId: partner_id, orgId: org_id ?? "" };
    } catch (failure) {
      // Tokens that were never one are nobody's, and would fill the log.
      const request = { digest, operation, resourceId: null, filter: null, requestId, effect: null };
      if (found !== null && operation !== "") requests.note(request, refusedBy(failure));
      throw failure;
    }
  },

  async noteScimRefusal({ digest, operation, id, code, scimType, detail }, handler) {
    const { requestId } = calledBy(handler).meta;
    const request = { digest, operation, resourceId: isUuid(id) ? id : null, filter: null, requestId, effect: null };
    requests.note(request, { outcome: code, scimType: scimType || null, detail });
    return {};
  },
});

/** Throws `permission_denied` for all but gateways: the directory's token is all that a call shows of its caller. */
export function calledBy(handler: HandlerContext): CallContext {
  const context = callContext(handler);
  const { actor } = context.caller;
  if (actor.type === "system" && actor.id === "gateway") return context;
  throw new AppError("permission_denied", "Only gateways may call this");
}
