import styles from "./status.module.css";

const tones: Readonly<Record<string, string | undefined>> = {
  online: styles.good,
  active: styles.good,
  delivered: styles.good,
  success: styles.good,
  closed: styles.good,
  ok: styles.good,
  done: styles.good,
  running: styles.good,
  completed: styles.good,
  succeeded: styles.good,
  offline: styles.quiet,
  decommissioned: styles.quiet,
  revoked: styles.quiet,
  expired: styles.quiet,
  disabled: styles.quiet,
  churned: styles.quiet,
  updating: styles.warn,
  pending: styles.warn,
  retrying: styles.warn,
  paused: styles.warn,
  invited: styles.warn,
  trial: styles.warn,
  recovering: styles.warn,
  starting: styles.warn,
  testing: styles.warn,
  queued: styles.warn,
  degraded: styles.bad,
  unavailable: styles.bad,
  halted: styles.bad,
  quarantined: styles.bad,
  failed: styles.bad,
  failure: styles.bad,
  denied: styles.bad,
  suspended: styles.bad,
  open: styles.bad,
};

/** A state as text; the colour only repeats it. */
export const Status = ({ of }: { of: string }) => (
  <span className={`${styles.status} ${tones[of] ?? styles.quiet}`}>{of}</span>
);
