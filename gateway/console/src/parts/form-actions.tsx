import type { ReactNode } from "react";
import { DialogActions } from "./dialog.tsx";

type FormActionsProps = {
  onCancel(): void;
  isRunning: boolean;
  /** Whether the form cannot be sent for another reason than that it is being sent. */
  isDisabled?: boolean;
  /** Text of the button while the form is sent. */
  running: string;
  children: ReactNode;
};

/** The buttons of a form in a dialog. */
export const FormActions = ({ onCancel, isRunning, isDisabled = false, running, children }: FormActionsProps) => (
  <DialogActions>
    <button type="button" onClick={onCancel}>
      Cancel
    </button>
    <button type="submit" data-weight="primary" disabled={isRunning || isDisabled}>
      {isRunning ? running : children}
    </button>
  </DialogActions>
);
