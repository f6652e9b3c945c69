/** The update mask of a PATCH: paths of the message for the keys that the body has, null included. */
export function maskOf<K extends string>(
  body: Partial<Record<NoInfer<K>, unknown>>,
  paths: Readonly<Record<K, string>>,
): { paths: string[] } {
  const fields = Object.entries(paths) as [K, string][];
  return { paths: fields.filter(([key]) => body[key] !== undefined).map(([, path]) => path) };
}

/** A JSON object as services accept it; absent and null become the empty text. */
export function jsonText(value: Record<string, unknown> | null | undefined): string {
  return value == null ? "" : JSON.stringify(value);
}
