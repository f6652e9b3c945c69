import { createPublicKey, verify } from "node:crypto";
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { describe, expect, it } from "@jest/globals";
import { type Caller, systemCaller, uuidv7 } from "@muster/kit";
import { outcome, until } from "@muster/testing";
import { removePreviousSecrets } from "../store/maintenance.ts";
import { eventMessage } from "../testing/dispatcher.ts";
import { ownDispatcher } from "../testing/own-dispatcher.ts";

const { dispatcher, receiver } = ownDispatcher();

const keyPair = { asymmetricSignature: true };
const keysOf = async (webhookId: string) => {
  const { keys } = await dispatcher.webhooks(systemCaller("gateway")).getPublicKeys({ webhookId });
  return keys.map((key) => Buffer.from(key));
};
const rotate = (caller: Caller, id: string, change: object = {}) =>
  dispatcher.webhooks(caller).rotateWebhookSigningKey({ id, ...change });
const update = (caller: Caller, id: string, change: object) =>
  dispatcher.webhooks(caller).updateWebhook({ id, updateMask: { paths: Object.keys(change) }, change });

/** The versions of the signatures of the next delivery, and the key that each `v1a` was verified with. */
async function signaturesOf(orgId: string, keys: readonly Buffer[]) {
  const id = uuidv7();
  await dispatcher.match([eventMessage(orgId, { id })]);
  const sender = dispatcher.sender();
  const { headers, body } = await until("the request", () => receiver.of(id)[0] ?? null);
  await sender.stop();
  const signed = Buffer.from(`${headers["webhook-id"]}.${headers["webhook-timestamp"]}.${body}`);
  const isBy = (key: Buffer, text: string) => {
    const jwk = { kty: "OKP", crv: "Ed25519", x: key.toString("base64url") };
    return verify(null, signed, createPublicKey({ format: "jwk", key: jwk }), Buffer.from(text, "base64"));
  };
  const signatures = String(headers["webhook-signature"] ?? "").split(" ");
  return signatures.map((each) => {
    const [version = "", text = ""] = each.split(",");
    return version === "v1a" ? keys.findIndex((key) => isBy(key, text)) : version;
  });
}

describe("a webhook's key pair", () => {
  it("signs beside the secret once it is asked for, and stops with the webhook's wish", async () => {
    const { orgId, admin } = await dispatcher.organization();
    const webhook = await dispatcher.webhook(admin, receiver, { secret: "first" });
    expect(webhook.asymmetricSignature).toBe(false);
    expect(await keysOf(webhook.id)).toEqual([]);
    expect(await signaturesOf(orgId, [])).toEqual(["v1"]);
    const { webhook: changed } = await update(admin, webhook.id, keyPair);
    expect(changed?.asymmetricSignature).toBe(true);
    const keys = await keysOf(webhook.id);
    expect(keys.map((key) => key.length)).toEqual([32]);
    expect(await signaturesOf(orgId, keys)).toEqual(["v1", 0]);
    // A change of anything else keeps the pair.
    await update(admin, webhook.id, { name: "Other", asymmetricSignature: true });
    expect(await keysOf(webhook.id)).toEqual(keys);
    await update(admin, webhook.id, { asymmetricSignature: false });
    expect(await keysOf(webhook.id)).toEqual([]);
    expect(await signaturesOf(orgId, keys)).toEqual(["v1"]);
  }, 60_000);

  it("signs alone for a webhook without a secret", async () => {
    const { orgId, admin } = await dispatcher.organization();
    const webhook = await dispatcher.webhook(admin, receiver, keyPair);
    expect(await signaturesOf(orgId, await keysOf(webhook.id))).toEqual([0]);
  }, 30_000);

  it("signs together with the previous one for the grace period of a rotation, then alone", async () => {
    const { orgId, admin } = await dispatcher.organization();
    const webhook = await dispatcher.webhook(admin, receiver, keyPair);
    const [first] = await keysOf(webhook.id);
    const { previousKeyUntil: end } = await rotate(admin, webhook.id, { graceSeconds: 600 });
    expect(end && timestampDate(end).getTime() - Date.now()).toBeGreaterThan(590_000);
    const both = await keysOf(webhook.id);
    expect(both).toHaveLength(2);
    expect(both[1]).toEqual(first);
    expect(await signaturesOf(orgId, both)).toEqual([0, 1]);
    await dispatcher.change(
      "UPDATE webhooks SET previous_signing_key_until = now() - interval '1 s', generation = generation + 1 WHERE id = $1",
      [webhook.id],
    );
    expect(await keysOf(webhook.id)).toEqual(both.slice(0, 1));
    expect(await signaturesOf(orgId, both)).toEqual([0]);
    await dispatcher.maintenance(removePreviousSecrets);
    const [row] = await dispatcher.rows<{ gone: boolean }>(
      `SELECT previous_signing_key_sealed IS NULL AND previous_signing_key_public IS NULL AS gone FROM webhooks WHERE id = $1`,
      [webhook.id],
    );
    expect(row?.gone).toBe(true);
    // Without a grace period the new one is the only one at once.
    expect((await rotate(admin, webhook.id, { graceSeconds: 0 })).previousKeyUntil).toBeUndefined();
    expect(await keysOf(webhook.id)).toHaveLength(1);
  }, 60_000);

  it("comes with the first rotation of a webhook without one, which leaves an audit row without the key", async () => {
    const { orgId, admin } = await dispatcher.organization();
    const webhook = await dispatcher.webhook(admin, receiver);
    const rotated = await rotate(admin, webhook.id);
    expect(rotated.webhook?.asymmetricSignature).toBe(true);
    expect(rotated.previousKeyUntil).toBeUndefined();
    const rows = await dispatcher.rows<{ body: string }>(
      "SELECT encode(body, 'escape') AS body FROM outbox WHERE subject LIKE 'audit.%' AND encode(body, 'escape') LIKE '%' || $1 || '%'",
      [webhook.id],
    );
    expect(rows.filter(({ body }) => body.includes("webhook.rotate_signing_key"))).toHaveLength(1);
    expect(await signaturesOf(orgId, await keysOf(webhook.id))).toEqual([0]);
  }, 30_000);

  it("is stored sealed, and its public half is the only one in clear", async () => {
    const { admin } = await dispatcher.organization();
    const webhook = await dispatcher.webhook(admin, receiver, keyPair);
    const [row] = await dispatcher.rows<{ text: string }>("SELECT w::text AS text FROM webhooks w WHERE id = $1", [
      webhook.id,
    ]);
    const [key] = await keysOf(webhook.id);
    expect(row?.text).toContain(key?.toString("hex"));
    // The beginning of every private key in PKCS #8 (RFC 8410).
    expect(row?.text).not.toContain("302e020100300506032b6570");
  });

  it("is rotated by who may write its webhook, with a grace period in range", async () => {
    const { admin, partnerId } = await dispatcher.organization();
    const other = await dispatcher.organization(partnerId);
    const webhook = await dispatcher.webhook(admin, receiver, keyPair);
    expect(await outcome(rotate(other.admin, webhook.id))).toBe("webhook_not_found");
    expect(await outcome(rotate(admin, "nothing"))).toBe("webhook_not_found");
    for (const graceSeconds of [-1, 2_592_001]) {
      expect(await outcome(rotate(admin, webhook.id, { graceSeconds }))).toBe("validation_failed graceSeconds");
    }
  });

  it("shows strangers nothing but keys: a missing and a deleted webhook have none", async () => {
    const { admin } = await dispatcher.organization();
    const webhook = await dispatcher.webhook(admin, receiver, keyPair);
    await dispatcher.webhooks(admin).deleteWebhook({ id: webhook.id });
    for (const id of [webhook.id, uuidv7(), "nothing"]) expect(await keysOf(id)).toEqual([]);
  });
});
