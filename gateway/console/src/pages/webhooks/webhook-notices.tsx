import { Link } from "@tanstack/react-router";
import { TriangleAlert } from "lucide-react";
import type { BodyOf } from "../../api/queries.ts";
import { NextStep } from "../../operations/operation-buttons.tsx";
import { endOfWarning } from "../../operations/webhooks.tsx";
import { Section } from "../../parts/facts.tsx";
import { toRecord } from "../../parts/links.ts";
import { useMe } from "../../parts/me.tsx";
import { Notice } from "../../parts/notice.tsx";
import { Sentence } from "../../parts/sentence.tsx";
import { useLastRefused } from "../../parts/webhook-cause.tsx";
import { shownHealth } from "../../rules/health.ts";
import { lastAnswer } from "../../rules/last-answer.ts";
import { whyNot } from "../../rules/why-not.ts";
import styles from "./webhook.module.css";

type Webhook = BodyOf<"/api/v1/webhooks/{id}">;

/** The one thing of a webhook that is most urgent, and what ends it: that it fails, else its first warning. */
export function WebhookNotices({ of: webhook }: { of: Webhook }) {
  const [first] = webhook.warnings;
  if (shownHealth(webhook).tone === "bad") return <Failing of={webhook} />;
  if (first === undefined) return null;
  const { title, sentence } = warningParts(first);
  return (
    <Notice tone="warn" title={title} action={<EndOf warning={first} of={webhook} />}>
      {sentence}
    </Notice>
  );
}

/** That it fails and why; the last attempt has what the receiver answered in full. */
function Failing({ of: { id, health } }: { of: Webhook }) {
  const refused = useLastRefused(id);
  const answer = lastAnswer(refused);
  return (
    <Notice
      tone="bad"
      title={answer ? `Deliveries fail: ${answer.charAt(0).toLowerCase()}${answer.slice(1)}` : "Deliveries fail."}
      action={
        refused ? (
          <Link
            {...toRecord("/webhooks/$id/deliveries/$deliveryId", { id, deliveryId: refused.id })}
            className="button"
            data-weight="primary"
          >
            See the last attempt
          </Link>
        ) : null
      }
    >
      <Sentence of={health.reason} />
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
