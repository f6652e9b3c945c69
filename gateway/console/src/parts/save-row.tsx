/** The end of a form inside a page: the button, or the reason `why` the form cannot be saved (null while it can). */
export const SaveRow = ({ why, isRunning }: { why: string | null; isRunning: boolean }) => (
  <>
    {why ? <p className="soft">{why}</p> : null}
    <div>
      <button type="submit" data-weight="primary" disabled={isRunning || why !== null}>
        {isRunning ? "Saving …" : "Save"}
      </button>
    </div>
  </>
);
