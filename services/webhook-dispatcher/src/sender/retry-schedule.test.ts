import type { MessageInitShape } from "@bufbuild/protobuf";
import { describe, expect, it } from "@jest/globals";
import type { RetryScheduleSchema } from "@muster/proto/muster/webhook/v1/webhook_pb";
import { outcome, until } from "@muster/testing";
import { eventMessage } from "../testing/dispatcher.ts";
import { ownDispatcher } from "../testing/own-dispatcher.ts";

const { dispatcher, receiver } = ownDispatcher();

type Schedule = MessageInitShape<typeof RetryScheduleSchema>;
type Row = { status: string; attempt: number; next_attempt_at: Date | null };

/** A webhook with one event whose first attempt was answered. */
async function attempted(retrySchedule: Schedule, answer: { status: number; headers?: Record<string, string> }) {
  receiver.answer((_request, response) => void response.writeHead(answer.status, answer.headers).end());
  const { orgId, admin } = await dispatcher.organization();
  const { id, ...webhook } = await dispatcher.webhook(admin, receiver, { retrySchedule });
  await dispatcher.match([eventMessage(orgId)]);
  return { orgId, admin, id, webhook, ...(await afterAttempt(id)) };
}

async function afterAttempt(id: string, attempt = 1) {
  const startedMs = Date.now();
  const sender = dispatcher.sender();
  const row = await until("the outcome", async () => {
    const [found] = await dispatcher.rows<Row>("SELECT * FROM webhook_deliveries WHERE webhook_id = $1", [id]);
    return found && found.attempt === attempt && found.status !== "pending" ? found : null;
  });
  await sender.stop();
  const delaySeconds = row.next_attempt_at ? Math.round((row.next_attempt_at.getTime() - startedMs) / 1_000) : null;
  return { status: row.status, delaySeconds };
}

/** Seconds between a delay and the expected one: the attempt itself takes some. */
const apart = ({ delaySeconds }: { delaySeconds: number | null }, seconds: number) =>
  Math.abs((delaySeconds ?? 0) - seconds);

describe("a retry schedule", () => {
  it("delays the retries of a webhook by days, and is shown", async () => {
    const first = await attempted({ delaysSeconds: [7_200, 86_400] }, { status: 500 });
    const { webhook, id } = first;
    expect(webhook.retrySchedule).toMatchObject({ name: "", delaysSeconds: [7_200, 86_400], jitterPercent: 0 });
    expect(first.status).toBe("retrying");
    expect(apart(first, 7_200)).toBeLessThan(20);
    const due = "UPDATE webhook_queue SET due_at = now() WHERE webhook_id = $1";
    await dispatcher.change(due, [id]);
    expect(apart(await afterAttempt(id, 2), 86_400)).toBeLessThan(20);
    await dispatcher.change(due, [id]);
    expect((await afterAttempt(id, 3)).status).toBe("failed");
  });

  it("takes a Retry-After of hours if it is of days, else of five minutes", async () => {
    const later = { status: 503, headers: { "retry-after": "10000" } };
    expect(apart(await attempted({ name: "extended" }, later), 10_000)).toBeLessThan(20);
    expect(apart(await attempted({ name: "standard" }, later), 300)).toBeLessThan(20);
  });

  it("is changed and removed by PATCH, and refused where payloads or the order forbid it", async () => {
    const { admin } = await dispatcher.organization();
    const { id } = await dispatcher.webhook(admin, receiver, { retrySchedule: { name: "extended" } });
    const patch = (paths: string[], change: object) =>
      dispatcher.webhooks(admin).updateWebhook({ id, updateMask: { paths }, change });
    expect(await outcome(patch(["ordered"], { ordered: true }))).toBe("validation_failed retrySchedule");
    const week = { retrySchedule: { delaysSeconds: Array(16).fill(86_400) } };
    expect((await patch(["retrySchedule"], week)).webhook?.retrySchedule?.delaysSeconds).toHaveLength(16);
    const beyond = { retrySchedule: { delaysSeconds: [86_401] } };
    expect(await outcome(patch(["retrySchedule"], beyond))).toBe("validation_failed retrySchedule");
    const { webhook } = await patch(["retrySchedule"], { retrySchedule: { name: "standard" } });
    expect(webhook?.retrySchedule?.name).toBe("standard");
    expect((await patch(["ordered"], { ordered: true })).webhook?.ordered).toBe(true);
  });
});

describe("a webhook without a success", () => {
  it("is marked failed by attempts and hours, although its retries go on for days", async () => {
    const { orgId, id, admin } = await attempted({ name: "extended" }, { status: 500 });
    const shown = async () => (await dispatcher.webhooks(admin).getWebhook({ id })).webhook?.status;
    const since = (attempts: number, hours: number) =>
      dispatcher.change(
        `UPDATE webhook_endpoint_state SET failed_attempts = $2, failing_since = now() - $3 * interval '1 hour'
         WHERE webhook_id = $1`,
        [id, attempts, hours],
      );
    const oneMore = async () => {
      await dispatcher.match([eventMessage(orgId)]);
      const before = await dispatcher.rows<{ n: number }>(
        "SELECT failed_attempts::int AS n FROM webhook_endpoint_state WHERE webhook_id = $1",
        [id],
      );
      const sender = dispatcher.sender();
      await until("one more failure", async () => {
        const [row] = await dispatcher.rows<{ n: number }>(
          "SELECT failed_attempts::int AS n FROM webhook_endpoint_state WHERE webhook_id = $1",
          [id],
        );
        return (row?.n ?? 0) > (before[0]?.n ?? 0);
      });
      await sender.stop();
      return shown();
    };
    await since(60, 119);
    expect(await oneMore()).toBe("active");
    await since(30, 200);
    expect(await oneMore()).toBe("active");
    await since(49, 121);
    expect(await oneMore()).toBe("failed");
  });
});
