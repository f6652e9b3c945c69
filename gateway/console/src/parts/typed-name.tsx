type TypedNameProps = { name: string; text: string; onChange(text: string): void };

/** The field in which users type a record's name before an action that cannot be undone. */
export const TypedName = ({ name, text, onChange }: TypedNameProps) => (
  <label>
    Type <code>{name}</code> to go on
    <input value={text} spellCheck={false} autoComplete="off" onChange={(event) => onChange(event.target.value)} />
  </label>
);
