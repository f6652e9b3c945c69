import { describe, expect, it } from "@jest/globals";
import type { Msg } from "nats";
import { toHeld } from "./pull.ts";

const delivery = (reply: string) => ({ subject: "audit.tenancy.5", reply, data: new Uint8Array() }) as unknown as Msg;

describe("the position of a delivery", () => {
  const position = { deliveries: 2, streamSeq: 1_234_567, consumerSeq: 89, pending: 4_096 };

  it.each([
    ["short", "$JS.ACK.AUDIT.sealer-5.2.1234567.89.1763707000123456789.4096"],
    ["with domain and account", "$JS.ACK.hub.ABCDEF.AUDIT.sealer-5.2.1234567.89.1763707000123456789.4096"],
    ["and a token more", "$JS.ACK._.ABCDEF.AUDIT.sealer-5.2.1234567.89.1763707000123456789.4096.Xy7Zq2"],
    ["of a durable that is a number", "$JS.ACK.AUDIT.5.2.1234567.89.1763707000123456789.4096"],
  ])("is read from the subject of its acknowledgement: %s", (_, reply) => {
    expect(toHeld(delivery(reply))).toMatchObject(position);
  });

  it.each([
    ["", "_INBOX.audit.1", "$JS.ACK.AUDIT.sealer-5.2.1234567.89.1763707000123456789"],
    ["$JS.ACK.AUDIT.sealer-5.2.x.89.1763707000123456789.4096", "$JS.ACK.AUDIT.sealer-5.2..89.1763707000123456789.4096"],
    ["_JS.ACK.AUDIT.sealer-5.2.1234567.89.1763707000123456789.4096"],
  ])("is no position, and refused: %s", (...replies) => {
    for (const reply of replies) expect(() => toHeld(delivery(reply))).toThrow("not a JetStream delivery");
  });
});
