type FieldErrors = Readonly<Record<string, readonly string[]>>;

/** A path whose last part is the position in a list, which means nothing to a reader. */
const isPosition = (path: string) => /(^|\.)\d+$/.test(path);

/**
 * The error texts of a field and of what it holds: those of a part begin with its path. Undefined when nothing is
 * wrong with it.
 */
export function errorsAt(fieldErrors: FieldErrors | undefined, field: string): readonly string[] | undefined {
  const texts = Object.entries(fieldErrors ?? {}).flatMap(([path, errors]) => {
    if (path === field) return errors;
    if (!path.startsWith(`${field}.`)) return [];
    const part = path.slice(field.length + 1);
    return isPosition(part) ? errors : errors.map((text) => `${part}: ${text}`);
  });
  return texts.length > 0 ? texts : undefined;
}
