import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { describe, expect, it } from "@jest/globals";
import { WebhookSchema } from "@muster/proto/muster/webhook/v1/webhook_pb";
import { webhookOf } from "./webhook-replies.ts";

const at = timestampFromDate(new Date(0));
const safe = { url: "https://example.com/hook", hasSecret: true, secretStrength: "strong" };

describe("the warnings of a webhook", () => {
  it.each<[string, object, RegExp[]]>([
    ["signed by a strong secret, over https", {}, []],
    ["without a secret", { hasSecret: false, secretStrength: "" }, [/^Deliveries are not signed/]],
    ["signed by a key pair alone", { hasSecret: false, secretStrength: "", asymmetricSignature: true }, []],
    ["with a weak secret", { secretStrength: "weak" }, [/^The secret is weak/]],
    ["over http", { url: "http://muster-listen.test:8499/" }, [/^The address is plain http/]],
    [
      "without a secret over http",
      { hasSecret: false, secretStrength: "", url: "http://a.test/" },
      [/^Deliveries are not signed/, /^The address is plain http/],
    ],
  ])("%s are as many as there are reasons", (_what, change, expected) => {
    const message = create(WebhookSchema, { status: "active", createdAt: at, updatedAt: at, ...safe, ...change });
    expect(webhookOf(message).warnings).toEqual(expected.map((pattern) => expect.stringMatching(pattern)));
  });
});
