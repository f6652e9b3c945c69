import { expect, it } from "@jest/globals";
import { zeroUuid } from "@muster/kit";
import { noticeOf } from "./notice.ts";

const now = new Date("2026-01-31T12:00:00Z");
const refused = { subject: "audit.tenancy", msgId: "none", body: Buffer.from("x") };

// A repeat is detected by it, also after an upgrade.
it("a notice has the id of its message, in the form of a UUID of version 8", () => {
  const { id } = noticeOf(refused, null, "no event", "tenancy", now);
  expect(id).toBe("42afd7e0-f2bd-8b8b-bf91-9e231fd60bb8");
  expect(noticeOf({ ...refused, body: Buffer.from("y") }, null, "no event", "tenancy", now).id).not.toBe(id);
});

it("a notice has the id that its message names", () => {
  const msgId = "chain/018F0000-0000-7000-8000-00000000000A";
  expect(noticeOf({ ...refused, msgId }, null, "no event", "tenancy", now)).toMatchObject({
    id: "018f0000-0000-7000-8000-00000000000a",
    chainId: zeroUuid,
    errorMessage: "no event",
    details: { subject: "audit.tenancy", chain: "chain", reason: "no event" },
  });
});
