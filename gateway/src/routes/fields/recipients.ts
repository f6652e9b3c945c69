import { validationError } from "@muster/kit";
import { toAppError } from "@muster/rpc";
import type { Services } from "../../clients/services.ts";
import type { RouteRequest } from "../../route/route.ts";

type Asking = Pick<RouteRequest, "rpc"> & { session: { caller: { actor: { id: string; type: string } } } };

/**
 * Requires users in the caller's scope; the caller needs no permission for their own id. Throws `validation_failed`
 * naming `<field>.<n>`, `permission_denied` for users who may not read users. Ids from keys and portals are taken as
 * they are: identity mails only users who may read what it is about.
 */
export async function checkRecipients(
  { session, rpc }: Asking,
  services: Services,
  field: string,
  userIds: readonly string[],
): Promise<void> {
  if (session.caller.actor.type !== "user") return;
  const call = await rpc();
  await Promise.all(
    userIds.map(async (userId, n) => {
      if (userId === session.caller.actor.id) return;
      try {
        await services.users.getUser({ id: userId }, call);
      } catch (error) {
        if (toAppError(error).code !== "user_not_found") throw error;
        throw validationError({ [`${field}.${n}`]: ["No user in your scope has this id"] });
      }
    }),
  );
}
