import { Dialog, DialogActions } from "./dialog.tsx";
import { CopyButton } from "./list-head.tsx";

export type Invited = { email: string; inviteUrl?: string };

/** What happens next with an invitation; its link, where this installation shows one, is shown this once. */
export const InviteLink = ({ to: { email, inviteUrl }, onClose }: { to: Invited; onClose(): void }) => (
  <Dialog title="Invited" onClose={onClose}>
    <p>
      {email} gets a mail with a link that is good for 7 days.
      {inviteUrl ? " Where no mail arrives, hand the link over yourself: it is shown only once." : null}
    </p>
    <DialogActions>
      {inviteUrl ? <CopyButton what="link" text={() => inviteUrl} /> : null}
      <button type="button" data-weight="primary" onClick={onClose}>
        Close
      </button>
    </DialogActions>
  </Dialog>
);
