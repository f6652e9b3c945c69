import { Dialog, DialogActions } from "../../parts/dialog.tsx";
import { CopyButton } from "../../parts/list-head.tsx";

/** The link of an invitation, shown this once. */
export const InviteLink = ({ to, onClose }: { to: { email: string; inviteUrl: string }; onClose(): void }) => (
  <Dialog title="Invited" onClose={onClose}>
    <p>
      {to.email} gets a mail with a link that is good for 7 days. Where no mail arrives, hand the link over yourself: it
      is shown only once.
    </p>
    <DialogActions>
      <CopyButton what="link" text={() => to.inviteUrl} />
      <button type="button" className="primary" onClick={onClose}>
        Close
      </button>
    </DialogActions>
  </Dialog>
);
