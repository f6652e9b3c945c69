/**
 * A text without the characters `end` behind it. A pattern such as `/\/+$/` is quadratic in what callers repeat
 * before something else.
 */
export function withoutTrailing(text: string, end: string): string {
  let length = text.length;
  while (length > 0 && text[length - 1] === end) length--;
  return text.slice(0, length);
}
