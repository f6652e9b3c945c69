import { Dialog, DialogActions } from "../parts/dialog.tsx";
import { PlainTable } from "../parts/plain-table.tsx";

const keysOfPages = [
  ["Ctrl K", "Searches records and pages, and runs operations"],
  ["/", "The filter of a list"],
  ["j k", "The next and the previous row"],
  ["Enter", "Opens the row"],
  ["x", "Selects the row, where several can be changed at once"],
  ["[ ]", "From a record to those above and below it in the list"],
  ["r", "Reads the list again"],
  ["g d", "Devices; g o, g e, g a, g p, g k, g i, g w, g y, g t, g z, g s, g n the other pages"],
  ["?", "This list"],
] as const;

/** All single keys; they can be turned off in the profile. */
export const KeysDialog = ({ onClose }: { onClose(): void }) => (
  <Dialog title="Keys" onClose={onClose}>
    <PlainTable columns={["Key", "What it does"]}>
      {keysOfPages.map(([keys, what]) => (
        <tr key={keys}>
          <th scope="row">
            <kbd>{keys}</kbd>
          </th>
          <td>{what}</td>
        </tr>
      ))}
    </PlainTable>
    <DialogActions>
      <button type="button" data-weight="primary" onClick={onClose}>
        Close
      </button>
    </DialogActions>
  </Dialog>
);
