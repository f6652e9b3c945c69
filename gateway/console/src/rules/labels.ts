type Labels = Readonly<Record<string, string>>;

/** Labels as lines `name=value`, to be edited. */
export const labelsText = (labels: Labels): string =>
  Object.entries(labels)
    .map(([name, value]) => `${name}=${value}`)
    .sort()
    .join("\n");

/**
 * What turns `before` into the labels of a text: new and other values, null for removed ones. A line without `=` is a
 * label without a value.
 */
export function labelChanges(before: Labels, text: string): Record<string, string | null> {
  const lines = text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
  const after = new Map(
    lines.map((line) => {
      const at = line.indexOf("=");
      return at < 0 ? [line, ""] : [line.slice(0, at).trim(), line.slice(at + 1).trim()];
    }),
  );
  const gone = Object.keys(before).filter((name) => !after.has(name));
  const changed = [...after].filter(([name, value]) => !Object.hasOwn(before, name) || before[name] !== value);
  return Object.fromEntries<string | null>([...gone.map((name) => [name, null] as const), ...changed]);
}
