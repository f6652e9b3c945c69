import type { BodyOf } from "../../api/queries.ts";
import { NextStep } from "../../operations/operation-buttons.tsx";
import { endOfWarning } from "../../operations/webhooks.tsx";
import { useMe } from "../../parts/me.tsx";
import { Notice } from "../../parts/notice.tsx";
import { WebhookCause } from "../../parts/webhook-cause.tsx";
import { counted } from "../../rules/counted.ts";
import { waiting } from "../../rules/failure-sentence.ts";
import { shownHealth } from "../../rules/health.ts";
import { whyNot } from "../../rules/why-not.ts";

type Webhook = BodyOf<"/api/v1/webhooks/{id}">;
type WebhookNoticesProps = {
  of: Webhook;
  /** Shows its deliveries of this status; null for who may not read them. */
  showDeliveries: ((status: "failed" | "retrying") => void) | null;
};

/** What of a webhook needs a look, the worst first, each with what ends it. */
export function WebhookNotices({ of: webhook, showDeliveries }: WebhookNoticesProps) {
  const me = useMe();
  const { health, deliveryStats: stats, warnings } = webhook;
  const waits = stats.pending + stats.retrying;
  const wanted = stats.failed > 0 ? "failed" : "retrying";
  return (
    <>
      {shownHealth(webhook).tone === "bad" ? (
        <Notice
          tone="bad"
          title="Deliveries fail."
          action={
            showDeliveries ? (
              <button type="button" onClick={() => showDeliveries(wanted)}>
                See {wanted} deliveries
              </button>
            ) : null
          }
        >
          <span className="soft">
            <WebhookCause of={webhook} />
            {waits > 0 ? ` ${counted(waits, "deliveries")} wait${waits === 1 ? "s" : ""}` : ""}
            {waits > 0 && health.oldestDueSeconds > 0 ? `, the oldest for ${waiting(health.oldestDueSeconds)}` : ""}
            {waits > 0 ? "." : ""}
          </span>
        </Notice>
      ) : null}
      {warnings.map((warning) => {
        const [title = "", ...rest] = warning.split(": ");
        const sentence = rest.join(": ");
        const end = endOfWarning(warning);
        return (
          <Notice
            key={warning}
            tone="warn"
            title={`${title}.`}
            action={
              whyNot(me, end.needs) === null ? <NextStep of={webhook} operation={end} name={webhook.name} /> : null
            }
          >
            {sentence.charAt(0).toUpperCase() + sentence.slice(1)}
          </Notice>
        );
      })}
    </>
  );
}
