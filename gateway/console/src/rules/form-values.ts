/** A cap of a form: null for no cap. */
export function capOf(value: FormDataEntryValue | null): number | null {
  const text = String(value ?? "").trim();
  return text === "" ? null : Number(text);
}

/** The day of an instant as a date field takes it (UTC); empty for none. */
export const dayOf = (at: string | null): string => at?.slice(0, 10) ?? "";
