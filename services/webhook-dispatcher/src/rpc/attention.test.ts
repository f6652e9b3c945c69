import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import type { Caller } from "@muster/kit";
import { AttentionService } from "@muster/proto/muster/common/v1/attention_pb";
import { register } from "@muster/rpc";
import { attentionService } from "@muster/service";
import { type TestPort, testPort } from "@muster/testing";
import { ownDispatcher } from "../testing/own-dispatcher.ts";
import { failingWebhookSource } from "./attention.ts";

const { dispatcher, receiver } = ownDispatcher();

const health = { failingAttempts: 5, unreachableAttempts: 20, slowSeconds: 60 };
let port: TestPort;
beforeAll(async () => {
  const source = failingWebhookSource({ now: () => new Date(), health });
  port = await testPort("webhook-dispatcher", [
    register(AttentionService, attentionService(dispatcher.database.db, [source])),
  ]);
});
afterAll(() => port?.close());

const may = (caller: Caller): Caller => ({ ...caller, permissions: [...caller.permissions, "devices:read"] });
const list = async (caller: Caller, orgId = "") =>
  (await port.client(AttentionService, may(caller)).listAttention({ orgId })).items;
const failed = (webhookId: string, attempts: number) =>
  dispatcher.change(
    "UPDATE webhook_endpoint_state SET failed_attempts = $2, failing_since = now() WHERE webhook_id = $1",
    [webhookId, attempts],
  );

describe("webhooks that need attention", () => {
  it("are those that fail, until they recover or their users pause them", async () => {
    const { orgId, admin } = await dispatcher.organization();
    const { id } = await dispatcher.webhook(admin, receiver);
    await failed(id, 4);
    expect(await list(admin)).toEqual([]);
    await failed(id, 5);
    const [item] = await list(admin, orgId);
    expect(item).toMatchObject({ kind: "webhook", recordType: "webhook", recordId: id, orgId, count: 1 });
    expect(item?.sentence).toMatch(/^5 attempts in a row failed since /);
    const change = { status: "paused" };
    await dispatcher.webhooks(admin).updateWebhook({ id, updateMask: { paths: ["status"] }, change });
    expect(await list(admin)).toEqual([]);
  });

  it("are those of the caller's own organization, for who may read webhooks", async () => {
    const [mine, other] = [await dispatcher.organization(), await dispatcher.organization()];
    await failed((await dispatcher.webhook(other.admin, receiver)).id, 9);
    expect(await list(mine.admin)).toEqual([]);
    expect(await list(mine.admin, other.orgId)).toEqual([]);
    expect(await list(other.admin)).toHaveLength(1);
    expect(await list({ ...other.admin, permissions: [] })).toEqual([]);
  });
});
