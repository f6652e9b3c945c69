const name = /^muster-\d{4}-\d{2}-\d{2}T\d{6}Z\.dump$/;
const leastPartBytes = 16 * 1024 * 1024;
/** S3 takes no more parts of one object. */
const partsMax = 10_000;

/** The newest of the files that are backups, by the time in their names; null without one. */
export const newestBackup = (files: string[]): string | null =>
  files
    .filter((file) => name.test(file))
    .sort()
    .at(-1) ?? null;

/** The backups among `names` beyond the newest `keep`, oldest first. */
export function expiredBackups(names: string[], keep: number): string[] {
  const backups = names.filter((each) => name.test(each)).sort();
  return backups.slice(0, Math.max(0, backups.length - keep));
}

/** Bytes of each part of an object of `bytes`. */
export const partBytes = (bytes: number): number => Math.max(leastPartBytes, Math.ceil(bytes / partsMax));
