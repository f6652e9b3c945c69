import type { CSSProperties } from "react";
import type { BodyOf } from "../../api/queries.ts";
import styles from "./webhook.module.css";

type Attempt = BodyOf<"/api/v1/webhooks/{id}/deliveries/{deliveryId}">["attempts"][number];

const isAccepted = ({ responseStatus }: Attempt) =>
  responseStatus !== null && responseStatus >= 200 && responseStatus < 300;
const answerOf = ({ responseStatus, errorCode }: Attempt) => responseStatus ?? errorCode ?? "no answer";

/** The attempts as a strip: as wide as each took, in the colour of its answer; the table has the same in words. */
export function AttemptStrip({ of: attempts }: { of: readonly Attempt[] }) {
  if (attempts.length === 0) return null;
  return (
    <div className={styles.strip} aria-hidden>
      {attempts.map((attempt) => (
        <i
          key={attempt.number}
          data-tone={isAccepted(attempt) ? "good" : "bad"}
          data-tip={`${attempt.number}: ${answerOf(attempt)}${attempt.totalMs === null ? "" : `, ${attempt.totalMs} ms`}`}
          style={{ "--share": attempt.totalMs ?? 1 } as CSSProperties}
        />
      ))}
    </div>
  );
}
