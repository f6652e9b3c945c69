import type { ReactNode } from "react";
import { DialogActions } from "./dialog.tsx";

type SubmitButtonProps = {
  isRunning: boolean;
  /** Whether the form cannot be sent for another reason than that it is being sent. */
  isDisabled?: boolean;
  /** Its text while the form is sent. */
  running: string;
  children: ReactNode;
};

/** The button that sends a form. */
export const SubmitButton = ({ isRunning, isDisabled = false, running, children }: SubmitButtonProps) => (
  <button type="submit" data-weight="primary" disabled={isRunning || isDisabled}>
    {isRunning ? running : children}
  </button>
);

/** The buttons of a form in a dialog. */
export const FormActions = ({ onCancel, ...submit }: SubmitButtonProps & { onCancel(): void }) => (
  <DialogActions>
    <button type="button" onClick={onCancel}>
      Cancel
    </button>
    <SubmitButton {...submit} />
  </DialogActions>
);
