const units = ["bytes", "KB", "MB", "GB", "TB"];

/** A number of bytes in words: "50 GB", each unit 1,024 of the one before. */
export function bytesWords(bytes: number): string {
  const power = bytes < 1_024 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(bytes) / 10));
  const value = bytes / 1_024 ** power;
  return `${value.toLocaleString("en", { maximumFractionDigits: value < 10 ? 1 : 0 })} ${units[power]}`;
}
