/** Control characters, line and paragraph separators, and what turns the direction of the text around. */
const notOfOneLine = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/u;

/** What is wrong with the name of a person, or null. Names stand in mails to others: they cannot bring lines of their own. */
export function personNameFault(name: string): string | null {
  const good = name.trim() !== "" && name.length <= 255 && !notOfOneLine.test(name);
  return good ? null : "1 to 255 characters on one line";
}
