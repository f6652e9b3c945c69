import { useState } from "react";
import { Dialog, DialogActions } from "./dialog.tsx";
import { CopyButton } from "./list-head.tsx";
import styles from "./secret-once.module.css";

/** A secret that is shown this once. It lives in this component alone: no cache, no address, no history. */
export function SecretOnce({
  title,
  secret,
  note,
  what = "secret",
  onClose,
}: {
  title: string;
  secret: string;
  note: string;
  /** What it is, in one word. */
  what?: "secret" | "link";
  onClose(): void;
}) {
  const [isStored, setStored] = useState(false);
  return (
    <Dialog title={title}>
      <p>{note}</p>
      <pre className={styles.secret}>{secret}</pre>
      <div className={styles.ways}>
        <CopyButton what={what} text={() => secret} />
        <a
          className="button"
          href={`data:text/plain;charset=utf-8,${encodeURIComponent(secret)}`}
          download={`${what}.txt`}
        >
          Download
        </a>
      </div>
      <label>
        <input type="checkbox" checked={isStored} onChange={(event) => setStored(event.target.checked)} /> I have stored
        it
      </label>
      <DialogActions>
        <button type="button" data-weight="primary" disabled={!isStored} onClick={onClose}>
          Close
        </button>
      </DialogActions>
    </Dialog>
  );
}
