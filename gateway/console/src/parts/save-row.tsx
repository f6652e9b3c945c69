/** Ends a form that stands in a page: why it cannot be saved, or the button. `why`: null while it can. */
export const SaveRow = ({ why, isRunning }: { why: string | null; isRunning: boolean }) => (
  <>
    {why ? <p className="soft">{why}</p> : null}
    <div>
      <button type="submit" className="primary" disabled={isRunning || why !== null}>
        {isRunning ? "Saving …" : "Save"}
      </button>
    </div>
  </>
);
