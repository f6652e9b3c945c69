import { TriangleAlert } from "lucide-react";
import type { BodyOf } from "../../api/queries.ts";
import { NextStep } from "../../operations/operation-buttons.tsx";
import { endOfWarning } from "../../operations/webhooks.tsx";
import { Section } from "../../parts/facts.tsx";
import { useMe } from "../../parts/me.tsx";
import { Notice } from "../../parts/notice.tsx";
import { WebhookCause } from "../../parts/webhook-cause.tsx";
import { shownHealth } from "../../rules/health.ts";
import { whyNot } from "../../rules/why-not.ts";
import styles from "./webhook.module.css";

type Webhook = BodyOf<"/api/v1/webhooks/{id}">;
type WebhookNoticesProps = {
  of: Webhook;
  /** The status of the deliveries that say why it fails. */
  wanted: "failed" | "retrying";
  /** Shows its deliveries of this status; null for who may not read them. */
  showDeliveries: ((status: "failed" | "retrying") => void) | null;
};

/** The one thing of a webhook that is most urgent, and what ends it: that it fails, else its first warning. */
export function WebhookNotices({ of: webhook, wanted, showDeliveries }: WebhookNoticesProps) {
  const [first] = webhook.warnings;
  if (shownHealth(webhook).tone !== "bad") {
    if (first === undefined) return null;
    const { title, sentence } = warningParts(first);
    return (
      <Notice tone="warn" title={title} action={<EndOf warning={first} of={webhook} />}>
        {sentence}
      </Notice>
    );
  }
  return (
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
      <WebhookCause of={webhook} />
    </Notice>
  );
}

type WarningsProps = {
  of: Webhook;
  /** Whether the first one stands above the page already. */
  isAfterNotice: boolean;
};

/** What makes its deliveries less safe, a line each with what ends it. */
export function Warnings({ of: webhook, isAfterNotice }: WarningsProps) {
  const shown = webhook.warnings.slice(isAfterNotice ? 1 : 0);
  return shown.length > 0 ? (
    <Section title="Security">
      {shown.map((warning) => {
        const { title, sentence } = warningParts(warning);
        return (
          <div key={warning} className={styles.warning}>
            <TriangleAlert size={15} aria-hidden />
            <p>
              <b>{title}</b> {sentence}
            </p>
            <EndOf warning={warning} of={webhook} />
          </div>
        );
      })}
    </Section>
  ) : null;
}

/** What ends a warning, for who may do it. */
function EndOf({ warning, of: webhook }: { warning: string; of: Webhook }) {
  const end = endOfWarning(warning);
  return whyNot(useMe(), end.needs) === null ? <NextStep of={webhook} operation={end} name={webhook.name} /> : null;
}

/** A warning of the API as a title and a sentence: they stand before and after its first colon. */
function warningParts(warning: string): { title: string; sentence: string } {
  const [title = "", ...rest] = warning.split(": ");
  const sentence = rest.join(": ");
  return { title: `${title}.`, sentence: sentence.charAt(0).toUpperCase() + sentence.slice(1) };
}
