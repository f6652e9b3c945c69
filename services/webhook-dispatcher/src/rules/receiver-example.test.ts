import { type ChildProcess, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { uuidv7 } from "@muster/kit";
import { messageIdOf, requestHeaders } from "./request.ts";

const example = fileURLToPath(new URL("../../../../docs/examples/webhook-receiver.mjs", import.meta.url));
const port = 20_000 + Math.floor(Math.random() * 10_000);
const secret = `whsec_${Buffer.alloc(32, 9).toString("base64")}`;

let child: ChildProcess;
beforeAll(async () => {
  child = spawn(process.execPath, [example], {
    env: { PATH: process.env.PATH, PORT: String(port), WEBHOOK_SECRET: secret },
  });
  await new Promise((resolve, reject) => {
    child.stdout?.once("data", resolve);
    child.once("exit", (status) => reject(new Error(`the example ended with ${status}`)));
  });
});
afterAll(() => void child?.kill());

const body = Buffer.from('{"id":"1","type":"device.online","data":{"name":"Zürich"}}');

async function post(pairs: string[], change: (name: string) => boolean = () => true, sent = body): Promise<number> {
  const headers = new Headers();
  for (let i = 0; i < pairs.length; i += 2) {
    if (change(pairs[i] ?? "")) headers.append(pairs[i] ?? "", pairs[i + 1] ?? "");
  }
  return (await fetch(`http://127.0.0.1:${port}/hook`, { method: "POST", headers, body: new Uint8Array(sent) })).status;
}

const signed = (secrets: string[], now = new Date()) =>
  requestHeaders(
    {
      messageId: messageIdOf(uuidv7(), uuidv7()),
      deliveryId: uuidv7(),
      eventId: uuidv7(),
      eventType: "device.online",
      source: "platform",
      body,
      attempt: 1,
      possibleDuplicate: false,
      secrets,
      signers: [],
      customHeaders: [],
      userinfo: null,
    },
    now,
  );

describe("the receiver's example of the docs", () => {
  it("accepts our signatures, by either scheme alone", async () => {
    const headers = signed([secret]);
    expect(await post(headers)).toBe(204);
    expect(await post(headers, (name) => !name.startsWith("webhook-"))).toBe(204);
    expect(await post(headers, (name) => !name.startsWith("X-Service-Signature"))).toBe(204);
  });

  it("accepts requests signed by both secrets during a rotation, with either of them", async () => {
    expect(await post(signed(["whsec_bmV3", secret]))).toBe(204);
  });

  it("refuses another body, another secret, an old request and an unsigned one", async () => {
    const headers = signed([secret]);
    expect(await post(headers, undefined, Buffer.from('{"id":"2"}'))).toBe(401);
    expect(await post(signed(["another"]))).toBe(401);
    expect(await post(signed([secret], new Date(Date.now() - 600_000)))).toBe(401);
    expect(await post(signed([]))).toBe(401);
  });
});
