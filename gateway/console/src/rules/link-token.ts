/** The token of a mail's link, behind `#` or in the query of older mails; "" without one. */
export function linkToken({ hash, search }: { hash: string; search: string }): string {
  return new URLSearchParams(hash.slice(1)).get("token") ?? new URLSearchParams(search).get("token") ?? "";
}
