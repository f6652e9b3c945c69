import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { processorUnits, until } from "@muster/testing";
import { responseLimits } from "../../rules/sso/saml/byte-limits.ts";
import { SamlRefused, SamlStatus } from "../../rules/sso/saml/refused.ts";
import { posted, responseXml, type TestKey, testKey, verification } from "../../testing/saml.ts";
import { largeResponse, worstCases } from "../../testing/saml-worst-cases.ts";
import { ResponseVerifier } from "./response-verifier.ts";
import { verifyResponse } from "./verify-response.ts";

let key: TestKey;
const verifier = new ResponseVerifier();
beforeAll(async () => {
  key = await testKey();
});
afterAll(() => verifier.close());

const groups = (count: number) =>
  `<saml:Attribute Name="groups">${"<saml:AttributeValue>a group of the directory</saml:AttributeValue>".repeat(count)}</saml:Attribute>`;

/** What the event loop did while something else went on. */
async function turnsDuring(work: Promise<unknown>): Promise<number> {
  let [turns, isOver] = [0, false];
  const counting = (async () => {
    while (!isOver) {
      await new Promise(setImmediate);
      turns++;
    }
  })();
  await work
    .catch(() => undefined)
    .finally(() => {
      isOver = true;
    });
  await counting;
  return turns;
}

describe("a response with thousands of groups", () => {
  it("is accepted, and other requests are served meanwhile", async () => {
    const large = posted(largeResponse(key, groups(12_000)));
    const verifying = verifier.verify(large, verification(key), "192.0.2.1");
    // A thread starts and verifies for a tenth of a second at least.
    expect(await turnsDuring(verifying)).toBeGreaterThan(20);
    expect((await verifying).attributes.get("groups")).toHaveLength(12_000);
  });

  it("is refused with the reasons of a small one", async () => {
    const text = groups(3_000);
    const unknown = verifier.verify(posted(largeResponse(await testKey(), text)), verification(key), "a");
    await expect(unknown).rejects.toMatchObject({ name: "SamlRefused", isUnknownKey: true });
    await expect(unknown).rejects.toBeInstanceOf(SamlRefused);
    const failed = largeResponse(key, text).replace("status:Success", "status:Responder");
    await expect(verifier.verify(posted(failed), verification(key), "a")).rejects.toBeInstanceOf(SamlStatus);
  });

  it("names its size and the limit beyond a mebibyte", async () => {
    const beyond = "A".repeat((responseLimits.bytes / 3 + 1) * 4 - 3);
    await expect(verifier.verify(`${beyond}A==`, verification(key), "a")).rejects.toThrow(
      /^the response has 10485\d\d bytes, at most 1048576 are accepted$/,
    );
  });

  it("is verified round-robin by network: one that posts many does not fill the queue", async () => {
    const large = posted(largeResponse(key, groups(3_000)));
    const post = (network: string) => verifier.verify(large, verification(key), network);
    const many = Array.from({ length: 15 }, () =>
      post("192.0.2.1").then(
        () => "in",
        ({ code }) => code as string,
      ),
    );
    const other = post("198.51.100.1");
    const order: string[] = [];
    await Promise.all([
      other.then(() => order.push("other")),
      Promise.all(many).then((outcomes) => order.push(...outcomes)),
    ]);
    expect(order[0]).toBe("other");
    expect(order.filter((each) => each === "overloaded").length).toBeGreaterThan(2);
    expect(order.filter((each) => each === "in").length).toBeGreaterThan(9);
  });

  it("ends its thread when none came for a while, and the next starts another", async () => {
    const short = new ResponseVerifier({ idleMs: 1 });
    const large = posted(largeResponse(key, groups(3_000)));
    await short.verify(large, verification(key), "a");
    await until("the thread has ended", () => !short.hasThread);
    expect((await short.verify(large, verification(key), "a")).nameId?.value).toBe("ada@acme.example");
    await short.close();
  });

  it("fails as unavailable when its thread ends", async () => {
    const closed = new ResponseVerifier();
    const large = posted(largeResponse(key, groups(3_000)));
    const waiting = [closed.verify(large, verification(key), "a"), closed.verify(large, verification(key), "b")];
    const failed = Promise.allSettled(waiting);
    await closed.close();
    for (const each of await failed) expect(each).toMatchObject({ reason: { code: "unavailable" } });
  });
});

it("a small response starts no thread", async () => {
  const own = new ResponseVerifier();
  await expect(own.verify(posted(responseXml("")), verification(key), "a")).rejects.toThrow(SamlRefused);
  expect(own.hasThread).toBe(false);
});

describe("a document within the limits takes little processor time", () => {
  it.each(Object.keys(worstCases))("with %s", (name) => {
    const text = posted(worstCases[name]?.(key) ?? "");
    expect(Buffer.byteLength(text, "base64")).toBeLessThan(responseLimits.bytes);
    const units = processorUnits(() => {
      try {
        verifyResponse(text, verification(key));
      } catch (refusal) {
        expect(refusal).toBeInstanceOf(SamlRefused);
        expect(String(refusal)).not.toMatch(/unread|not well-formed/);
      }
    });
    expect(units).toBeLessThan(100);
  });
});
