import { api } from "../client.ts";
import type { Cluster } from "../cluster.ts";
import { totpCode } from "../operator.ts";
import { signedInAs, signInAgain } from "../people.ts";
import type { World } from "./targets.ts";

/**
 * Goes through every operation on a session that there is, as a new viewer of the organization `own`. Gives the actions that
 * the audit trail of the person should have, in order, and the routes that were called.
 */
export async function sessionOperations(
  cluster: Cluster,
  world: World,
): Promise<{ done: string[]; personId: string; covered: string[] }> {
  const person = await signedInAs(cluster, "org-viewer", { orgId: String(world.spots.own.orgId) });
  const done = ["user.create", "user.invite.accept", "user.login"];
  const covered = ["POST /auth/accept-invite", "POST /auth/login"];
  const step = async (path: string, body: object, action: string | null, by = person.api) => {
    const reply = await by.call("POST", path, body);
    if (reply.status !== 200) throw new Error(`POST ${path} answered ${reply.status}: ${JSON.stringify(reply.body)}`);
    covered.push(`POST ${path}`);
    if (action) done.push(action);
    return reply.body;
  };
  const { password } = person;
  const { secret } = await step("/auth/mfa/totp/setup", { password }, "user.mfa.setup");
  const { recoveryCodes } = await step("/auth/mfa/totp/enable", { code: totpCode(String(secret)) }, "user.mfa.enable");
  const [first, second] = recoveryCodes as string[];
  await step("/auth/mfa/verify", { code: first }, "user.mfa.verify");
  await step("/auth/mfa/totp/disable", { password, code: second }, "user.mfa.disable");
  // A refresh is the same session going on: nothing that somebody did.
  await step("/auth/refresh", { refreshToken: person.refreshToken }, null, api(cluster));
  const again = await signInAgain(cluster, person);
  done.push("user.login");
  await step("/auth/logout", {}, "user.logout", again.api);
  return { done, personId: person.id, covered };
}
