import { softAuthenticator } from "@muster/testing";
import { api } from "../support/client.ts";
import type { Cluster } from "../support/cluster.ts";
import { resetTokenOf } from "../support/mailbox.ts";
import { totpCode } from "../support/operator.ts";
import { signedInAs, signInAgain } from "../support/users.ts";
import type { World } from "./targets.ts";

/**
 * Goes through every operation on a session that there is, as a new viewer of the organization `own`. Returns the
 * actions that the user's audit trail should have, in order, and the called routes.
 */
export async function sessionOperations(
  cluster: Cluster,
  world: World,
): Promise<{ done: string[]; userId: string; covered: string[] }> {
  const user = await signedInAs(cluster, "org-viewer", { orgId: String(world.spots.own.orgId) });
  const done = ["user.create", "user.invite.accept", "user.login"];
  // The invitation is described in e2e/users/users.test.ts.
  // The token of `unsubscribe` comes with a notification: e2e/audit/alerts.test.ts.
  const covered = ["POST /auth/invitation", "POST /auth/accept-invite", "POST /auth/login", "POST /auth/unsubscribe"];
  const call = async (method: string, path: string, body: object | undefined, actions: string[], by = user.api) => {
    const reply = await by.call(method, path, body);
    const { status } = reply;
    if (status !== 200) throw new Error(`${method} ${path} answered ${status}: ${JSON.stringify(reply.body)}`);
    covered.push(`${method} ${path.replace(/[0-9a-f-]{36}/, ":id")}`);
    done.push(...actions);
    return reply.body;
  };
  const step = (path: string, body: object, action: string | null, by = user.api) =>
    call("POST", path, body, action ? [action] : [], by);
  const { password } = user;
  const { secret } = await step("/auth/mfa/totp/setup", { password }, "user.mfa.setup");
  const { recoveryCodes } = await step("/auth/mfa/totp/enable", { code: totpCode(String(secret)) }, "user.mfa.enable");
  const [first, second] = recoveryCodes as string[];
  await step("/auth/mfa/verify", { code: first }, "user.mfa.verify");
  await call("PATCH", "/auth/me", { name: "Renamed" }, ["user.update"]);
  await step("/auth/mfa/totp/disable", { password, code: second }, "user.mfa.disable");
  // A refresh is the same session going on: not an action of a user.
  await step("/auth/refresh", { refreshToken: user.refreshToken }, null, api(cluster));
  const again = await signInAgain(cluster, user);
  done.push("user.login");
  const anybody = api(cluster);
  const refused = await step("/auth/device", { clientName: "refused" }, null, anybody);
  await step("/auth/device/lookup", { userCode: refused.userCode }, null, again.api);
  await step("/auth/device/deny", { userCode: refused.userCode }, "user.device.deny", again.api);
  const started = await step("/auth/device", { clientName: "approved" }, null, anybody);
  await step("/auth/device/approve", { userCode: started.userCode }, "user.device.approve", again.api);
  await step("/auth/device/token", { deviceCode: started.deviceCode }, "user.login", anybody);
  await step("/auth/logout", {}, "user.logout", again.api);

  const device = softAuthenticator(`http://localhost:${new URL(cluster.url).port}`);
  const making = await step("/auth/mfa/passkeys/register/options", { password }, null);
  const made = { credential: device.create(making) };
  const created = ["user.passkey.create", "user.mfa.enable"];
  const { id } = await call("POST", "/auth/mfa/passkeys/register/verify", made, created);
  const using = await step("/auth/mfa/passkeys/authenticate/options", {}, null);
  await step("/auth/mfa/passkeys/authenticate/verify", { credential: device.get(using) }, "user.mfa.verify");
  await call("PATCH", `/auth/mfa/passkeys/${id}`, { name: "Renamed" }, ["user.passkey.update"]);
  await step("/auth/mfa/recovery-codes", {}, "user.recovery_codes.rotate");
  await call("DELETE", `/auth/mfa/passkeys/${id}`, undefined, ["user.passkey.delete", "user.mfa.disable"]);

  await signInAgain(cluster, user);
  done.push("user.login");
  const { data } = (await user.api.call("GET", "/auth/sessions")).body;
  const other = (data as { id: string; current: boolean }[]).find(({ current }) => !current);
  await call("DELETE", `/auth/sessions/${other?.id}`, undefined, ["session.revoke"]);
  await signInAgain(cluster, user);
  done.push("user.login");
  // That one and the approved client's.
  await call("DELETE", "/auth/sessions", undefined, ["session.revoke", "session.revoke"]);
  const newPassword = "a newer password for tests only";
  await step("/auth/change-password", { currentPassword: password, newPassword }, "user.password.change");
  const choice = { kind: "audit_alert", mail: false };
  await call("PATCH", "/auth/notifications", choice, ["user.notifications.update"]);
  // The caller has proven nothing yet.
  await step("/auth/forgot-password", { email: user.email }, null, api(cluster));
  const token = await resetTokenOf(cluster, user.email);
  const reset = ["user.password.reset", "session.revoke"];
  await call("POST", "/auth/reset-password", { token, password }, reset, api(cluster));
  return { done, userId: user.id, covered };
}
