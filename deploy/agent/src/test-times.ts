/** Times that tests shorten; undefined for the usual one. */
export function millisecondsOf(name: string): number | undefined {
  const seconds = Number(process.env[name]);
  return seconds > 0 ? seconds * 1000 : undefined;
}
