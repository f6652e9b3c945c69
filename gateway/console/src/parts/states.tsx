import type { ReactNode } from "react";
import type { Failure } from "../api/call.ts";
import { failureSentence } from "../rules/failure-sentence.ts";
import styles from "./states.module.css";

/** The failure, with its code and request id for support, and a retry. */
export function FailureState({ failure, onRetry }: { failure: Failure; onRetry?: () => void }) {
  return (
    <div role="alert" className={styles.failure}>
      <p>
        <strong>
          {failure.status === 404 ? "This does not exist, or is not yours to see." : failureSentence(failure)}
        </strong>
      </p>
      <p className={styles.facts}>
        {failure.code}
        {failure.requestId ? ` · request ${failure.requestId}` : ""}
      </p>
      {onRetry && failure.status !== 404 && failure.status !== 403 ? (
        <button type="button" onClick={onRetry}>
          Try again
        </button>
      ) : null}
    </div>
  );
}

/** An empty list: what it would hold, and the first step. */
export const EmptyState = ({ title, children }: { title: string; children?: ReactNode }) => (
  <div className={styles.empty}>
    <p>
      <strong>{title}</strong>
    </p>
    {children}
  </div>
);

/** Takes its space at once, and becomes visible after a moment. */
export const Loading = ({ what = "Loading" }: { what?: string }) => (
  <p role="status" className={styles.loading}>
    {what} …
  </p>
);

/** What the user may not do here, and why. */
export const NotAllowed = ({ why }: { why: string }) => (
  <div role="status" className={styles.empty}>
    <p>
      <strong>This page is not for your account.</strong> {why}
    </p>
  </div>
);

/** A short answer to what was just done. */
export const Said = ({ children }: { children: ReactNode }) => (
  <p role="status" className={children ? styles.said : styles.none}>
    {children}
  </p>
);

type ListStateProps = {
  list: { failure: Failure | null; isLoading: boolean; rows: readonly unknown[]; refresh(): Promise<unknown> };
  /** What is being loaded. */
  what?: string;
  /** Replaces the rows of an empty list. */
  children: ReactNode;
};

/** What a list shows besides its rows: that it failed, is loading, or is empty. */
export const ListState = ({ list: { failure, isLoading, rows, refresh }, what, children }: ListStateProps) => (
  <>
    {failure ? <FailureState failure={failure} onRetry={() => void refresh()} /> : null}
    {isLoading ? <Loading {...(what ? { what } : {})} /> : null}
    {!isLoading && !failure && rows.length === 0 ? children : null}
  </>
);
