type TypedNameProps = { name: string; text: string; onChange(text: string): void };

/** What cannot be undone wants the name of what goes. */
export const TypedName = ({ name, text, onChange }: TypedNameProps) => (
  <label>
    Type <code>{name}</code> to go on
    <input value={text} spellCheck={false} autoComplete="off" onChange={(event) => onChange(event.target.value)} />
  </label>
);
