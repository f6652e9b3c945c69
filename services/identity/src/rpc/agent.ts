import type { ServiceImpl } from "@connectrpc/connect";
import type { Tx } from "@muster/db";
import { AppError, isUuid } from "@muster/kit";
import { AgentService } from "@muster/proto/muster/identity/v1/agent_pb";
import { callContext } from "@muster/rpc";
import { auditEvent, idempotentTx, requirePermission } from "@muster/service";
import { enroll } from "../commands/enroll.ts";
import type { AgentDeps } from "../deps.ts";
import { announceAgent } from "../emits/agent-facts.ts";
import { afterChange } from "../emits/changes.ts";
import { newAgentToken } from "../rules/agent-token.ts";
import { type AgentTokenRow, lockAgentToken, offerAgentToken, revokeAgentTokens } from "../store/agent-tokens.ts";

/** Enrollment, token rotation and revocation of agents (docs/behaviour.md#agents). */
export function agentService(deps: AgentDeps): ServiceImpl<typeof AgentService> {
  const { db, now } = deps;
  return {
    async enroll(request, handler) {
      const context = callContext(handler);
      const { actor } = context.caller;
      if (actor.type !== "system" || actor.id !== "gateway") {
        throw new AppError("permission_denied", "Agents enroll through a gateway");
      }
      const { enrollmentKey, ...fields } = request;
      const { device, token, heartbeatIntervalSeconds } = await enroll(deps, context, enrollmentKey, fields);
      const { id: deviceId, orgId, siteId, status } = device;
      return { deviceId, orgId, siteId, status, token, heartbeatIntervalSeconds };
    },

    async rotateToken(request, handler) {
      const context = callContext(handler);
      const { actor } = context.caller;
      if (actor.type !== "agent") throw new AppError("permission_denied", "Only an agent rotates its token");
      const at = now();
      const locate = async (tx: Tx) => {
        const before = await lockAgentToken(tx, actor.id);
        if (before === null || before.revoked_at !== null) {
          throw new AppError("agent_token_revoked", "Agent token is revoked");
        }
        return before;
      };
      const offer = async (tx: Tx, { org_id: orgId, partner_id: partnerId, generation }: AgentTokenRow) => {
        const { token, digest } = newAgentToken();
        await offerAgentToken(tx, actor.id, digest);
        const resource = { type: "device", id: actor.id, name: actor.name };
        const fact = { action: "agent.token.rotate", resource, orgId, partnerId, details: { generation } };
        tx.emit(auditEvent("identity", context, fact, at));
        return { token };
      };
      return idempotentTx(db, context, AgentService.method.rotateToken, request, locate, offer, deps.box);
    },

    async endAgent({ deviceId }, handler) {
      const context = callContext(handler);
      requirePermission(context, "devices:delete");
      if (!isUuid(deviceId)) return {};
      const changes = await db.tx(context, async (tx) =>
        (await revokeAgentTokens(tx, [deviceId], now())).map((row) => announceAgent(tx, row)),
      );
      await afterChange({ db }, changes);
      return {};
    },
  };
}
