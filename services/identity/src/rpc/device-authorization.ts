import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import { type CallContext, clientNetwork, nameError, sessionEnded, uuidv7, validationError } from "@muster/kit";
import type { DeviceAuthorizationService } from "@muster/proto/muster/identity/v1/device_authorization_pb";
import { callContext } from "@muster/rpc";
import { requireMfa } from "@muster/service";
import { completeDeviceAuthorization } from "../commands/complete-device-authorization.ts";
import { signedInUser } from "../commands/complete-factor.ts";
import { tryUserCode } from "../commands/try-user-code.ts";
import type { DeviceAuthorizationDeps } from "../deps.ts";
import { userEvent } from "../emits/audit.ts";
import { tooManyFailures } from "../rules/attempt-limit.ts";
import { authorizationMs, firstIntervalSeconds } from "../rules/device-authorization.ts";
import { newToken } from "../rules/opaque-token.ts";
import { newUserCode, shownUserCode } from "../rules/user-code.ts";
import { approve, deny, insertDeviceAuthorization } from "../store/device-authorizations.ts";
import { addFailures, type Counted, limitedUntil, lockToCount } from "../store/failures.ts";
import { lockSession } from "../store/sessions.ts";

/** Age, in minutes, of a second factor that still approves: an older session must prove it again. */
const factorMaxAgeMinutes = 5;

/** Sign-ins of clients without a browser (docs/behaviour.md#sessions). */
export function deviceAuthorizationService(
  deps: DeviceAuthorizationDeps,
): ServiceImpl<typeof DeviceAuthorizationService> {
  return {
    beginDeviceAuthorization: ({ clientName }, handler) => begin(deps, callContext(handler), clientName),
    completeDeviceAuthorization: ({ deviceCode }, handler) =>
      completeDeviceAuthorization(deps, callContext(handler), deviceCode),

    async findDeviceAuthorization({ userCode }, handler) {
      const context = callContext(handler);
      await signedInUser(deps, context);
      const row = await tryUserCode(deps, context, userCode, async (_tx, found) => found);
      return {
        clientName: row.client_name,
        ipAddress: row.ip_address ?? "",
        createdAt: timestampFromDate(row.created_at),
        expiresAt: timestampFromDate(row.expires_at),
      };
    },

    async approveDeviceAuthorization({ userCode }, handler) {
      const context = callContext(handler);
      const { principal, sessionId } = await signedInUser(deps, context);
      if (principal.mfa_enabled) requireMfa(context, factorMaxAgeMinutes, deps.now());
      const { mfaAt } = context.caller;
      await tryUserCode(deps, context, userCode, async (tx, row) => {
        const session = await lockSession(tx, sessionId);
        if (!session || session.revoked_at) throw sessionEnded();
        await approve(tx, row.id, { ...principal, sessionId, mfaAt });
        const details = { clientName: row.client_name, ipAddress: row.ip_address };
        tx.emit(userEvent(context, principal, { action: "user.device.approve", details }, deps.now()));
      });
      return {};
    },

    async denyDeviceAuthorization({ userCode }, handler) {
      const context = callContext(handler);
      const { principal } = await signedInUser(deps, context);
      await tryUserCode(deps, context, userCode, async (tx, row) => {
        await deny(tx, row.id);
        const details = { clientName: row.client_name, ipAddress: row.ip_address };
        tx.emit(userEvent(context, principal, { action: "user.device.deny", details }, deps.now()));
      });
      return {};
    },
  };
}

async function begin(deps: DeviceAuthorizationDeps, context: CallContext, wanted: string) {
  const clientName = wanted.trim();
  const error = nameError(clientName);
  if (error) throw validationError({ clientName: [error] });
  const now = deps.now();
  const network = clientNetwork(context.meta.clientAddress);
  const counted: Counted[] = [{ key: `device-authorization/${network}`, limit: deps.deviceLimits.started }];
  const device = newToken("dev_");
  const started = {
    id: uuidv7(now.getTime()),
    deviceHash: device.hash,
    clientName,
    ipAddress: context.meta.clientAddress,
    intervalSeconds: firstIntervalSeconds,
    now,
    expiresAt: new Date(now.getTime() + authorizationMs),
  };
  const outcome = await deps.db.tx(
    { ...context, caller: deps.system, actsFor: network },
    async (tx): Promise<{ until: Date } | { userCode: string }> => {
      const counts = await lockToCount(tx, counted, now);
      const until = limitedUntil(counts, counted, now);
      if (until) return { until };
      await addFailures(tx, counts, counted, now);
      for (;;) {
        const userCode = newUserCode();
        const [userHash] = deps.userCodeHashes(userCode);
        if (await insertDeviceAuthorization(tx, { ...started, userHash })) return { userCode };
      }
    },
  );
  if ("until" in outcome) throw tooManyFailures(outcome.until, now);
  return {
    deviceCode: device.token,
    userCode: shownUserCode(outcome.userCode),
    expiresInSeconds: authorizationMs / 1_000,
    intervalSeconds: firstIntervalSeconds,
  };
}
