import { CircleAlert, CircleCheck, Inbox, Lock, type LucideIcon } from "lucide-react";
import type { CSSProperties, ReactNode } from "react";
import type { Failure } from "../api/call.ts";
import { failureSentence, isPassing } from "../rules/failure-sentence.ts";
import styles from "./states.module.css";

/** The failure, with its code and request id for support, and a retry. */
export function FailureState({ failure, onRetry }: { failure: Failure; onRetry?: () => void }) {
  return (
    <div role="alert" className={styles.failure}>
      <CircleAlert size={17} aria-hidden />
      <div>
        <p>
          <strong>
            {failure.status === 404 ? "This does not exist, or is not yours to see." : failureSentence(failure)}
          </strong>
        </p>
        <p className={styles.facts}>
          {failure.code}
          {failure.requestId ? ` · request ${failure.requestId}` : ""}
          {onRetry && isPassing(failure) ? " · tried again by itself" : ""}
        </p>
      </div>
      {onRetry && failure.status !== 404 && failure.status !== 403 ? (
        <button type="button" onClick={onRetry}>
          Try again
        </button>
      ) : null}
    </div>
  );
}

type EmptyStateProps = { title: string; icon?: LucideIcon; children?: ReactNode };

/** An empty list: a picture, what it would hold, and one first step. */
export const EmptyState = ({ title, icon: Icon = Inbox, children }: EmptyStateProps) => (
  <div className={styles.empty}>
    <span className={styles.picture}>
      <Icon size={22} strokeWidth={1.75} aria-hidden />
    </span>
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

const shares = ["46%", "32%", "58%", "40%", "52%", "36%"];

/** Rows of a list that is loading, instead of the real ones. */
export const Skeleton = ({ what }: { what: string }) => (
  <div role="status" className={styles.skeleton}>
    <span className="visually-hidden">{what} …</span>
    {shares.map((share) => (
      <span key={share} aria-hidden style={{ "--share": share } as CSSProperties} />
    ))}
  </div>
);

/** What the user may not do here, and why. */
export const NotAllowed = ({ why }: { why: string }) => (
  <div role="status" className={styles.empty}>
    <span className={styles.picture}>
      <Lock size={22} strokeWidth={1.75} aria-hidden />
    </span>
    <p>
      <strong>This page is not for your account.</strong> {why}
    </p>
  </div>
);

/** A short answer to what was just done; a failure is never shown as a success. */
export const Said = ({ children, isFailure = false }: { children: ReactNode; isFailure?: boolean }) => (
  <p role="status" className={children ? styles.said : styles.none} data-tone={isFailure ? "bad" : undefined}>
    {children ? isFailure ? <CircleAlert size={16} aria-hidden /> : <CircleCheck size={16} aria-hidden /> : null}
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
