type Named = { id: string; name: string };

/** Options of a select whose values are words already. */
export const Options = ({ of }: { of: readonly string[] }) => of.map((each) => <option key={each}>{each}</option>);

/** Options of a select that chooses a record by its name. */
export const NamedOptions = ({ of }: { of: readonly Named[] }) =>
  of.map(({ id, name }) => (
    <option key={id} value={id}>
      {name}
    </option>
  ));
