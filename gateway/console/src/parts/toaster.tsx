import { Toast } from "@base-ui/react/toast";
import { CircleAlert, CircleCheck, X } from "lucide-react";
import { useEffect } from "react";
import styles from "./popups.module.css";
import { takeWaiting, useWaiting } from "./said.ts";

/** Milliseconds for which a success is shown. */
const shownMs = 6_000;

export default function Toaster() {
  return (
    <Toast.Provider timeout={shownMs} limit={3}>
      <Toast.Portal>
        <Toast.Viewport className={styles.toasts}>
          <All />
        </Toast.Viewport>
      </Toast.Portal>
    </Toast.Provider>
  );
}

function All() {
  const { toasts, add } = Toast.useToastManager();
  const waiting = useWaiting();
  useEffect(() => {
    if (waiting.length === 0) return;
    for (const { text, type } of takeWaiting()) {
      add({
        description: text,
        type,
        ...(type === "failure" ? { timeout: 0, priority: "high" as const } : {}),
      });
    }
  }, [waiting, add]);
  return toasts.map((each) => (
    // A message, not a dialog: nothing is asked. The corner itself reads it out.
    <Toast.Root
      key={each.id}
      toast={each}
      // biome-ignore lint/a11y/useSemanticElements: a fieldset groups the fields of a form
      render={({ "aria-modal": _isModal, ...props }) => <div {...props} role="group" />}
      className={styles.toast}
      data-type={each.type}
    >
      {each.type === "failure" ? <CircleAlert size={16} aria-hidden /> : <CircleCheck size={16} aria-hidden />}
      <Toast.Description />
      <Toast.Close
        // All messages are shown in full: none is hidden behind another one.
        render={({ "aria-hidden": _isHidden, ...props }) => (
          <button {...props} type="button" data-weight="quiet" data-size="icon" aria-label="Close the message" />
        )}
      >
        <X size={14} aria-hidden />
      </Toast.Close>
    </Toast.Root>
  ));
}
