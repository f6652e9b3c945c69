import { describe, expect, it } from "@jest/globals";
import { uuidv7 } from "@muster/kit";
import { systemOpens } from "@muster/rpc";
import { callers, outcome, until } from "@muster/testing";
import { ownDispatcher } from "../testing/own-dispatcher.ts";

const { dispatcher, receiver } = ownDispatcher();

const push = (change: object = {}) => ({
  url: dispatcher.urlOf(receiver),
  secret: "hidden",
  deliveryId: uuidv7(),
  eventId: uuidv7(),
  eventType: "audit.rows",
  body: new TextEncoder().encode("{}"),
  attempt: 1,
  ...change,
});
const audit = () => dispatcher.pushes(callers.service("audit"));

describe("a push", () => {
  it("is one signed request, and returns its outcome", async () => {
    const { hostname, port, pathname } = new URL(dispatcher.urlOf(receiver));
    const url = `http://us%40er:pa%3Ass@${hostname}:${port}${pathname}`;
    expect(await audit().push(push({ url, possibleDuplicate: true }))).toMatchObject({ status: 200, errorCode: "" });
    expect(receiver.received.at(-1)?.headers).toMatchObject({
      "x-service-event-type": "audit.rows",
      "x-service-possible-duplicate": "true",
      "x-service-signature": expect.stringMatching(/^sha256=[0-9a-f]{64}$/),
      authorization: `Basic ${Buffer.from("us@er:pa:ss").toString("base64")}`,
    });
    receiver.answer((_request, response) => void response.writeHead(302, { location: "http://127.0.0.1/" }).end());
    expect(await audit().push(push())).toMatchObject({ status: 302, errorCode: "status" });
    receiver.answer((_request, response) => void response.destroy());
    const broken = await audit().push(push());
    expect(broken.status).toBeUndefined();
    expect(broken.errorCode).not.toBe("");
    receiver.answer((_request, response) => void response.end());
  });

  it("goes to public addresses only, in whatever notation", async () => {
    for (const url of [
      "http://example.com/",
      "https://127.0.0.1/",
      "https://2130706433/",
      "https://0x7f.1/",
      "https://[::ffff:169.254.169.254]/",
      "https://localhost./",
      "https://user@10.0.0.1/",
      "https://example.com:6667/",
      "nonsense",
    ]) {
      expect([url, await outcome(audit().push(push({ url })))]).toEqual([
        url,
        expect.stringMatching(/^invalid_webhook_url /),
      ]);
      expect(await outcome(audit().checkUrl({ url }))).toMatch(/^invalid_webhook_url /);
    }
  });

  it("is for services with the right only", async () => {
    const partnerId = uuidv7();
    for (const caller of [callers.orgAdmin(partnerId, uuidv7()), callers.platformAdmin()]) {
      expect(await outcome(dispatcher.pushes(caller).push(push()))).toBe("scope_not_allowed");
      expect(await outcome(dispatcher.pushes(caller).checkUrl({ url: "https://example.com" }))).toBe(
        "scope_not_allowed",
      );
    }
    const rpc = "muster.webhook.v1.PushService/Push";
    const may = ["identity", "tenancy", "device-logs", "agent-release", "gateway", "audit"].filter((name) =>
      systemOpens(name, rpc),
    );
    expect(may).toEqual(["audit"]);
  });

  it("is refused immediately without a free slot, and beyond its partner's fair share", async () => {
    const held: (() => void)[] = [];
    receiver.answer((_request, response) => held.push(() => response.end()));
    const of = (partnerId: string) => audit().push(push({ partnerId }));
    const [hanging, good, late] = [uuidv7(), uuidv7(), uuidv7()];
    const first = [of(hanging), of(hanging)];
    await until("two in flight", () => held.length === 2);
    expect(await outcome(of(hanging))).toBe("overloaded");
    first.push(of(good));
    await until("another's", () => held.length === 3);
    expect(await outcome(of(good))).toBe("overloaded");
    first.push(of(late));
    await until("a third one's", () => held.length === 4);
    expect(await outcome(of(uuidv7()))).toBe("overloaded");
    for (const release of held) release();
    expect((await Promise.all(first)).map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  });
});
