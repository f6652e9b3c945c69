import { createHmac } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { describe, expect, it } from "@jest/globals";
import { type Forward, receive, type Seen } from "./receiver.ts";

const key = Buffer.from("0123456789abcdef01234567");
const secret = `whsec_${key.toString("base64")}`;
const sentBody = JSON.stringify({ id: "e1", type: "device.online", data: { hostname: "web-01" } });

function request(body: string, signedBy = key): IncomingMessage {
  const at = String(Math.floor(Date.now() / 1_000));
  const signature = createHmac("sha256", signedBy).update(`d1.${at}.${body}`).digest("base64");
  const headers = {
    "content-type": "application/json",
    host: "muster-listen.test",
    "webhook-id": "d1",
    "webhook-timestamp": at,
    "webhook-signature": `v1,${signature}`,
    "x-service-delivery-id": "d1",
    "x-service-attempt": "2",
  };
  return Object.assign(Readable.from([Buffer.from(body)]), { headers }) as unknown as IncomingMessage;
}

/** The answer to a request, and what was reported. */
async function received(sent: IncomingMessage, forward: Forward | null = null) {
  const seen: Seen[] = [];
  const status = await receive({ secret, forward, shown: (each) => seen.push(each) })(sent);
  return { status, seen };
}

describe("a receiver of deliveries", () => {
  it("verifies, reports and accepts what the secret signed", async () => {
    const { status, seen } = await received(request(sentBody));
    expect(status).toBe(204);
    expect(seen).toEqual([
      expect.objectContaining({
        verified: true,
        type: "device.online",
        eventId: "e1",
        deliveryId: "d1",
        attempt: 2,
        data: { hostname: "web-01" },
      }),
    ]);
  });

  it("reports and refuses what another secret signed, and never hands it on", async () => {
    let calls = 0;
    const forward = async () => ++calls;
    const { status, seen } = await received(request(sentBody, Buffer.from("other")), forward);
    expect([status, seen[0]?.verified, calls]).toEqual([401, false, 0]);
  });

  it("answers what the application answers, with the delivery's own headers and bytes", async () => {
    let handed: [Record<string, string>, string] | null = null;
    const { status, seen } = await received(request(sentBody), async (headers, body) => {
      handed = [headers, String(body)];
      return 503;
    });
    expect([status, seen[0]?.forwarded]).toEqual([503, 503]);
    expect(handed).toEqual([expect.objectContaining({ "webhook-id": "d1", "x-service-attempt": "2" }), sentBody]);
    expect(handed?.[0]).not.toHaveProperty("host");
  });

  it("answers 502 when the application cannot be reached, and reports the cause", async () => {
    const { status, seen } = await received(request(sentBody), () => Promise.reject(new Error("connect ECONNREFUSED")));
    expect([status, seen[0]?.forwarded]).toEqual([502, "connect ECONNREFUSED"]);
  });

  it("takes no body beyond 1 MiB", async () => {
    expect(await received(request("x".repeat((1 << 20) + 1)))).toEqual({ status: 413, seen: [] });
  });
});
