/** A cap of a form: null for no cap. */
export function capOf(value: FormDataEntryValue | null): number | null {
  const text = String(value ?? "").trim();
  return text === "" ? null : Number(text);
}

/** The day of an instant as a date field takes it (UTC); empty for none. */
export const dayOf = (at: string | null): string => at?.slice(0, 10) ?? "";

/** What a form holds, as text: two of them are equal while nothing was changed. A file counts by its name. */
export const fieldsOf = (form: HTMLFormElement): string =>
  JSON.stringify(
    [...new FormData(form)].map(([name, value]) => [name, typeof value === "string" ? value : value.name]),
  );
