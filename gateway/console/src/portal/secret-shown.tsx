import { Dialog, DialogActions } from "../parts/dialog.tsx";
import styles from "./portal.module.css";

/** A signing secret, in this component alone. */
export const SecretShown = ({ title, secret, onClose }: { title: string; secret: string | null; onClose(): void }) => (
  <Dialog title={title} onClose={onClose}>
    <p>
      {secret === null
        ? "This webhook has no secret: its deliveries are not signed."
        : "This secret signs each delivery. Your receiver verifies it."}
    </p>
    {secret === null ? null : <pre className={styles.secret}>{secret}</pre>}
    <DialogActions>
      <button type="button" data-weight="primary" onClick={onClose}>
        Close
      </button>
    </DialogActions>
  </Dialog>
);
