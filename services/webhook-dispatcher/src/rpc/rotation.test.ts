import { createHmac } from "node:crypto";
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { describe, expect, it } from "@jest/globals";
import { type Caller, uuidv7 } from "@muster/kit";
import { outcome, until } from "@muster/testing";
import { removePreviousSecrets } from "../store/maintenance.ts";
import { eventMessage } from "../testing/dispatcher.ts";
import { ownDispatcher } from "../testing/own-dispatcher.ts";

const { dispatcher, receiver } = ownDispatcher();

const rotate = (caller: Caller, id: string, change: object = {}) =>
  dispatcher.webhooks(caller).rotateWebhookSecret({ id, ...change });

/** Names of the secrets that signed the next delivery: by the X-Service headers, and by Standard Webhooks'. */
async function signers(orgId: string, secrets: Record<string, string>) {
  const id = uuidv7();
  await dispatcher.match([eventMessage(orgId, { id })]);
  const sender = dispatcher.sender();
  const { headers, body } = await until("the request", () => receiver.of(id)[0] ?? null);
  await sender.stop();
  const nameOf = (signature: unknown, sign: (secret: string) => string) =>
    Object.keys(secrets).find((name) => sign(secrets[name] ?? "") === signature) ?? (signature ? "nobody" : null);
  const ours = (secret: string) =>
    `sha256=${createHmac("sha256", secret).update(`${headers["x-service-signature-timestamp"]}.${body}`).digest("hex")}`;
  const standard = (secret: string) => {
    const key = secret.startsWith("whsec_") ? Buffer.from(secret.slice(6), "base64") : secret;
    const input = `${headers["webhook-id"]}.${headers["webhook-timestamp"]}.${body}`;
    return `v1,${createHmac("sha256", key).update(input).digest("base64")}`;
  };
  const signatures = String(headers["webhook-signature"]).split(" ");
  return {
    ours: nameOf(headers["x-service-signature"], ours),
    previous: nameOf(headers["x-service-signature-previous"], ours),
    standard: signatures.map((each) => nameOf(each, standard)),
  };
}

describe("a rotated secret", () => {
  it("signs together with the previous one for the requested grace period, then alone", async () => {
    const { orgId, admin } = await dispatcher.organization();
    const webhook = await dispatcher.webhook(admin, receiver, { secret: "first" });
    const { secret, previousSecretUntil: end } = await rotate(admin, webhook.id, { graceSeconds: 600 });
    expect(end && timestampDate(end).getTime() - Date.now()).toBeGreaterThan(590_000);
    expect(end && timestampDate(end).getTime() - Date.now()).toBeLessThanOrEqual(600_000);
    const secrets = { first: "first", second: secret };
    expect(await signers(orgId, secrets)).toEqual({ ours: "second", previous: "first", standard: ["second", "first"] });
    await dispatcher.change(
      "UPDATE webhooks SET previous_secret_until = now() - interval '1 s', generation = generation + 1 WHERE id = $1",
      [webhook.id],
    );
    expect(await signers(orgId, secrets)).toEqual({ ours: "second", previous: null, standard: ["second"] });
    await dispatcher.maintenance(removePreviousSecrets);
    const [row] = await dispatcher.rows<{ kept: boolean }>(
      "SELECT previous_secret_sealed IS NOT NULL AS kept FROM webhooks WHERE id = $1",
      [webhook.id],
    );
    expect(row?.kept).toBe(false);
  }, 30_000);

  it("is the only one immediately without a grace period, and a second rotation ends the first one's", async () => {
    const { orgId, admin } = await dispatcher.organization();
    const webhook = await dispatcher.webhook(admin, receiver, { secret: "first" });
    const second = await rotate(admin, webhook.id, { secret: "second" });
    expect(second.secret).toBe("second");
    const third = await rotate(admin, webhook.id);
    const secrets = { first: "first", second: "second", third: third.secret };
    expect(await signers(orgId, secrets)).toEqual({ ours: "third", previous: "second", standard: ["third", "second"] });
    const fourth = await rotate(admin, webhook.id, { graceSeconds: 0 });
    expect(fourth.previousSecretUntil).toBeUndefined();
    expect(await signers(orgId, { ...secrets, fourth: fourth.secret })).toEqual({
      ours: "fourth",
      previous: null,
      standard: ["fourth"],
    });
  }, 30_000);

  it("is refused with a grace period out of range and to callers without access to the webhook", async () => {
    const { admin, partnerId } = await dispatcher.organization();
    const other = await dispatcher.organization(partnerId);
    const webhook = await dispatcher.webhook(admin, receiver);
    expect(await outcome(rotate(admin, webhook.id, { graceSeconds: -1 }))).toBe("validation_failed graceSeconds");
    expect(await outcome(rotate(admin, webhook.id, { graceSeconds: 2_592_001 }))).toBe(
      "validation_failed graceSeconds",
    );
    expect(await outcome(rotate(admin, webhook.id, { secret: "a\nb" }))).toBe("validation_failed secret");
    expect(await outcome(rotate(other.admin, webhook.id))).toBe("webhook_not_found");
    // The first secret of a webhook has no previous one.
    expect((await rotate(admin, webhook.id)).previousSecretUntil).toBeUndefined();
  });
});

describe("the health of a webhook", () => {
  const healthOf = async (admin: Caller, id: string) => (await dispatcher.webhooks(admin).getWebhook({ id })).health;

  it("shows failures and pending deliveries, and is clean again after a success", async () => {
    const broken = dispatcher.receivers[1];
    broken.answer((_request, response) => void response.writeHead(500).end());
    const { orgId, admin } = await dispatcher.organization();
    const webhook = await dispatcher.webhook(admin, broken);
    expect(await healthOf(admin, webhook.id)).toMatchObject({
      breaker: "closed",
      failedAttempts: 0n,
      oldestDueSeconds: 0,
      inFlight: 0,
      failedReason: "",
    });
    await dispatcher.match([eventMessage(orgId)]);
    const sender = dispatcher.sender();
    await until("two failed attempts", async () => (await healthOf(admin, webhook.id))?.failedAttempts === 2n);
    const failing = await healthOf(admin, webhook.id);
    expect(failing).toMatchObject({ breaker: "closed", failedDeliveries: 0n });
    expect(failing?.lastFailureAt).toBeDefined();
    expect(failing?.nextAttemptAt && timestampDate(failing.nextAttemptAt).getTime()).toBeGreaterThan(Date.now());
    broken.answer((_request, response) => void response.end());
    await until("the retry", async () => (await healthOf(admin, webhook.id))?.lastSuccessAt !== undefined, 20_000);
    await sender.stop();
    expect(await healthOf(admin, webhook.id)).toMatchObject({ failedAttempts: 0n, oldestDueSeconds: 0 });
    expect((await healthOf(admin, webhook.id))?.nextAttemptAt).toBeUndefined();
  }, 40_000);

  it("shows the webhook as failed after a 410, until a user activates the webhook", async () => {
    const gone = dispatcher.receivers[2];
    gone.answer((_request, response) => void response.writeHead(410).end());
    const { orgId, admin } = await dispatcher.organization();
    const webhook = await dispatcher.webhook(admin, gone);
    await dispatcher.match([eventMessage(orgId)]);
    const sender = dispatcher.sender();
    const status = async () => (await dispatcher.webhooks(admin).getWebhook({ id: webhook.id })).webhook?.status;
    await until("the webhook to fail", async () => (await status()) === "failed");
    await sender.stop();
    expect(await healthOf(admin, webhook.id)).toMatchObject({ failedReason: "gone", oldestDueSeconds: 0 });
    const reported = await dispatcher.rows(
      "SELECT FROM outbox WHERE subject = $1 AND encode(body, 'escape') LIKE '%' || $2 || '%'",
      [`events.webhook-dispatcher.${orgId}.webhook.failed`, webhook.id],
    );
    expect(reported).toHaveLength(1);
    const change = { id: webhook.id, updateMask: { paths: ["status"] }, change: { status: "active" } };
    await dispatcher.webhooks(admin).updateWebhook(change);
    expect(await healthOf(admin, webhook.id)).toMatchObject({ failedReason: "", failedAttempts: 0n });
  }, 30_000);

  it("shows an open breaker and holds the next attempt until it closes", async () => {
    const { orgId, admin } = await dispatcher.organization();
    const webhook = await dispatcher.webhook(admin, receiver);
    await dispatcher.match([eventMessage(orgId)]);
    await dispatcher.change(
      "UPDATE webhook_endpoint_state SET open_until = now() + interval '30 s', open_seconds = 30, slots = 1 WHERE webhook_id = $1",
      [webhook.id],
    );
    const open = await healthOf(admin, webhook.id);
    expect(open).toMatchObject({ breaker: "open" });
    expect(open?.nextAttemptAt).toEqual(open?.openUntil);
    expect(open?.oldestDueSeconds).toBeGreaterThan(0);
    await dispatcher.change("UPDATE webhook_endpoint_state SET open_until = now() WHERE webhook_id = $1", [webhook.id]);
    expect(await healthOf(admin, webhook.id)).toMatchObject({ breaker: "recovering" });
  });
});
