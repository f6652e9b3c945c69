import type { KeyObject } from "node:crypto";
import { describe, expect, it } from "@jest/globals";
import { uuidv7 } from "@muster/kit";
import { until } from "@muster/testing";
import type { Source } from "../rules/poster.ts";
import { headersBeside, headersOfFirst, maskedHeaders, messageIdOf, requestHeaders } from "../rules/request.ts";
import { newSigningKey, signerOf } from "../rules/signing-key.ts";
import type { Header } from "../rules/webhook.ts";
import { eventMessage } from "../testing/dispatcher.ts";
import { ownDispatcher } from "../testing/own-dispatcher.ts";
import { type Outcome, soleHeaders } from "./outcomes.ts";

const { dispatcher, receiver } = ownDispatcher();

const startedAt = new Date("2026-03-01T12:00:00.987Z");
const ids = {
  messageId: messageIdOf(uuidv7(), uuidv7()),
  deliveryId: uuidv7(),
  eventId: uuidv7(),
  eventType: "device.online",
};

const signer = signerOf(newSigningKey().privateKey);

function sent({ secrets = [], signers = [], custom = [], userinfo = null, source = null }: Partial<Sent>) {
  const once = { attempt: 1, possibleDuplicate: false };
  const request = { ...ids, ...once, source, body: Buffer.from("{}"), secrets, signers, userinfo };
  return { sent: requestHeaders({ ...request, customHeaders: custom }, startedAt), custom };
}
type Sent = {
  secrets: string[];
  signers: KeyObject[];
  custom: Header[];
  userinfo: string | null;
  source: Source | null;
};

describe("headers of a first attempt in the row of its delivery", () => {
  it.each<[string, Partial<Sent>]>([
    ["without a secret", {}],
    ["with a secret", { secrets: ["s"] }],
    ["with a service's event", { secrets: ["s"], source: "platform" }],
    ["with a posted event", { source: "api", custom: [{ key: "X-Own", value: "x" }] }],
    ["while a secret is rotated", { secrets: ["new", "old"] }],
    ["with a key pair", { secrets: ["s"], signers: [signer] }],
    ["with two key pairs and no secret", { signers: [signer, signer] }],
    ["with userinfo", { secrets: ["s"], userinfo: "me:secret" }],
    [
      "with a custom header that replaces userinfo",
      { custom: [{ key: "authorization", value: "x" }], userinfo: "a:b" },
    ],
    ["with a custom Authorization", { custom: [{ key: "Authorization", value: "x" }] }],
    ["with a custom user agent", { secrets: ["s"], custom: [{ key: "user-agent", value: "x" }] }],
    [
      "with names that are numbers",
      {
        custom: [
          { key: "7", value: "x" },
          { key: "10", value: "" },
        ],
      },
    ],
    [
      "with many custom headers",
      { custom: ["X-Own", "x-own-2", "Z!#$%&'*+.^_`|~", "A"].map((key) => ({ key, value: "v" })) },
    ],
  ])("are rebuilt as if they had been stored whole: %s", async (_, change) => {
    const headers = sent(change);
    const whole = JSON.stringify(maskedHeaders(headers));
    const [stored] = await dispatcher.rows<{ headers: object }>("SELECT $1::jsonb AS headers", [whole]);
    const beside = headersBeside(headers) ?? "";
    expect(JSON.stringify(headersOfFirst({ ...ids, startedAt, beside }))).toBe(JSON.stringify(stored?.headers));
  });

  it("are stored whole when a custom header has a name that is now reserved", () => {
    expect(headersBeside(sent({ custom: [{ key: "webhook-id", value: "x" }] }))).toBeNull();
  });
});

describe("an attempt", () => {
  const claim = { attempt: 1 } as Outcome["claim"];
  const answer = { status: 200, body: "ok", errorCode: null, errorMessage: null };
  const times = { startedAt, connectedMs: 0, headersMs: 1, totalMs: 1 };
  const about = { remoteAddress: "127.0.0.1", reused: true, possibleDuplicate: false };
  const attempt: Outcome["attempt"] = { ...times, ...about, ...answer, headers: sent({ secrets: ["s"] }) };
  const delivered = { claim, next: { status: "delivered" }, attempt } as Outcome;

  it("has its own row unless it was the first and only one, delivered, and no possible repeat", () => {
    expect(soleHeaders(delivered, 1)).not.toBeNull();
    expect(soleHeaders(delivered, 2)).toBeNull();
    expect(soleHeaders(delivered, undefined)).toBeNull();
    expect(soleHeaders({ ...delivered, claim: { ...claim, attempt: 2 } }, 2)).toBeNull();
    expect(soleHeaders({ ...delivered, next: { status: "failed" } }, 1)).toBeNull();
    expect(soleHeaders({ ...delivered, attempt: { ...attempt, possibleDuplicate: true } }, 1)).toBeNull();
  });

  it("needs no row when it delivered first, is shown with its headers, and once however often it is stored", async () => {
    const { orgId, admin } = await dispatcher.organization();
    const webhook = await dispatcher.webhook(admin, receiver, {
      secret: "s",
      headers: [{ key: "X-Own", value: "mine" }],
    });
    const sender = dispatcher.sender();
    const id = uuidv7();
    await dispatcher.match([eventMessage(orgId, { id })]);
    const [delivery] = await until("the delivery", async () => {
      const rows = await dispatcher.deliveriesOf(webhook.id);
      return rows[0]?.status === "delivered" ? rows : null;
    });
    await sender.stop();
    const found = await dispatcher.deliveries(admin).getDelivery({ webhookId: webhook.id, id: delivery?.id ?? "" });
    expect(found.attempts).toMatchObject([
      { number: 1, responseStatus: 200, remoteAddress: "127.0.0.1", interrupted: false, possibleDuplicate: false },
    ]);
    const shown = JSON.parse(found.attempts[0]?.requestHeadersJson ?? "{}") as Record<string, string>;
    const got = receiver.of(id)[0]?.headers ?? {};
    const transport = ["host", "connection", "content-length"];
    expect(Object.fromEntries(Object.entries(shown).map(([name, value]) => [name.toLowerCase(), value]))).toEqual(
      Object.fromEntries(Object.entries({ ...got, "x-own": "***" }).filter(([name]) => !transport.includes(name))),
    );
    expect(await dispatcher.rows("SELECT FROM webhook_attempts WHERE delivery_id = $1", [delivery?.id])).toEqual([]);

    // As a sender does when its COMMIT is not answered.
    await dispatcher.change(
      `INSERT INTO webhook_attempts (delivery_id, created_at, number, org_id, partner_id, started_at, response_status)
       SELECT id, created_at, 1, org_id, partner_id, sole_started_at, 200 FROM webhook_deliveries WHERE id = $1`,
      [delivery?.id],
    );
    const again = await dispatcher.deliveries(admin).getDelivery({ webhookId: webhook.id, id: delivery?.id ?? "" });
    expect(again.attempts.map(({ number }) => number)).toEqual([1]);
  });
});
